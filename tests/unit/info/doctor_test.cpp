// Hosts that are well and hosts that are not: trees of made-up /proc, /sys and /dev.
#include "host/info/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/file_tree.hpp"
#include "tests/unit/info/line_of.hpp"

namespace weft::info {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() : patient_{tree_.root(), kNoLimit, kNoLimit} {}

  void write(const std::string& path, const std::string& text) const {
    tree_.write(path, text + "\n");
  }
  void add_port(const std::string& state, const std::string& layer) const {
    const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
    write(port + "state", state);
    write(port + "link_layer", layer);
    write(port + "rate", "100 Gb/sec (4X EDR)");
  }
  void add_address(const std::string& type, const std::string& gid) const {
    const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
    write(port + "gids/3", gid);
    write(port + "gid_attrs/types/3", type);
  }

  Line line(const std::string& name) const { return line_of(host_checks(patient_), name); }
  bool is_fine() const {
    return diagnosis_of(0, std::vector<Section>{host_checks(patient_)}).wrong.empty();
  }

  FileTree tree_;
  Patient patient_;
};

TEST_F(DoctorTest, AHostWithoutAnythingSpecialIsWell) {
  EXPECT_TRUE(is_fine());
  EXPECT_THAT(line("rdma ports").value, HasSubstr("none"));
}

TEST_F(DoctorTest, EveryIllnessHasItsMend) {
  write("/proc/sys/vm/overcommit_memory", "2");
  write("/proc/meminfo", "MemAvailable: 1024 kB");
  patient_.open_files = 256;
  patient_.locked_memory = 8 << 20;
  add_port("1: DOWN", "Ethernet");
  for (const char* name :
       {"overcommit", "memory", "open files", "locked memory", "rdma ports", "rdma device files"}) {
    EXPECT_EQ(line(name).mark, Mark::kNo) << name;
    EXPECT_NE(line(name).mend, "") << name;
  }
  EXPECT_FALSE(is_fine());
}

TEST_F(DoctorTest, LittleLockedMemoryIsEnoughWithoutAnRdmaPort) {
  patient_.locked_memory = 8 << 20;
  EXPECT_EQ(line("locked memory").mark, Mark::kYes);
  add_port("4: ACTIVE", "InfiniBand");
  EXPECT_THAT(line("locked memory").value, HasSubstr("8 MiB"));
  EXPECT_THAT(line("locked memory").mend, HasSubstr("ulimit -l unlimited"));
}

TEST_F(DoctorTest, APortOnEthernetNeedsAnAddress) {
  add_port("4: ACTIVE", "Ethernet");
  write("/dev/infiniband/uverbs0", "");
  EXPECT_THAT(line("roce addresses").value, HasSubstr("mlx5_0 port 1"));
  add_address("IB/RoCE v1", "0000:0000:0000:0000:0000:ffff:0a00:0001");
  EXPECT_EQ(line("roce addresses").mark, Mark::kNo);
  add_address("RoCE v2", "fe80:0000:0000:0000:0000:00ff:fe00:0001");
  EXPECT_EQ(line("roce addresses").mark, Mark::kNo);
  add_address("RoCE v2", "0000:0000:0000:0000:0000:ffff:0a00:0001");
  EXPECT_EQ(line("roce addresses").mark, Mark::kYes);
  EXPECT_TRUE(is_fine());
}

TEST_F(DoctorTest, APortOnInfiniBandNeedsNone) {
  add_port("4: ACTIVE", "InfiniBand");
  write("/dev/infiniband/uverbs0", "");
  EXPECT_EQ(line("roce addresses").mark, Mark::kYes);
  EXPECT_THAT(line("rdma ports").value, HasSubstr("mlx5_0 port 1 (InfiniBand)"));
}

TEST_F(DoctorTest, ForbiddenSystemCallsAreSaid) {
  EXPECT_THAT(line("system calls").value, HasSubstr("none is forbidden"));
  write("/proc/self/status", "Name:\tx\nSeccomp:\t2\n");
  EXPECT_THAT(line("system calls").value, HasSubstr("seccomp"));
}

TEST(TestRun, AJobOfOneIsWell) {
  Result<Runtime> runtime = Runtime::create();
  ASSERT_TRUE(runtime.is_ok()) << runtime.status().text();
  const std::vector<Section> sections = {test_run(*runtime)};
  const Diagnosis mine = diagnosis_of(0, sections);
  EXPECT_EQ(mine.wrong, "");
  const Result<std::vector<Diagnosis>> all = gather(*runtime, mine);
  ASSERT_TRUE(all.is_ok()) << all.status().text();
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ((*all)[0].text, as_text(sections));
}

}  // namespace
}  // namespace weft::info
