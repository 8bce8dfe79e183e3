// Limits as a container sees them: trees of made-up /proc and /sys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "host/info/sections.hpp"

namespace weft::info {
namespace {

using ::testing::HasSubstr;

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() : root_(::testing::TempDir() + "weft-limits-" + std::to_string(::getpid())) {}
  ~LimitsTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  Line line(const std::string& name) const {
    const Section section = limits_section(root_);
    const auto found = std::find_if(section.lines.begin(), section.lines.end(),
                                    [&](const Line& each) { return each.name == name; });
    EXPECT_NE(found, section.lines.end()) << name;
    return found == section.lines.end() ? Line{} : *found;
  }

  std::string root_;
};

TEST_F(LimitsTest, NothingThereIsNoLimit) {
  EXPECT_EQ(line("processors by cgroup").value, "no limit");
  EXPECT_EQ(line("threads by cgroup").value, "no limit");
  EXPECT_EQ(line("memory left").value, "not known");
  EXPECT_EQ(line("overcommit").value, "not known");
}

TEST_F(LimitsTest, VersionTwo) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/a/pids.max", "max\n");
  write("/sys/fs/cgroup/a/b/pids.max", "77\n");
  EXPECT_EQ(line("processors by cgroup").value, "1.5");
  EXPECT_EQ(line("processors by cgroup").data, 1.5);
  EXPECT_EQ(line("threads by cgroup").data, 77);
}

TEST_F(LimitsTest, VersionTwoFromInsideAContainer) {
  write("/proc/self/cgroup", "0::/docker/0123\n");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/pids.max", "100\n");  // the container's own, at the mount point
  EXPECT_EQ(line("processors by cgroup").value, "no limit");
  EXPECT_EQ(line("threads by cgroup").value, "100");
}

TEST_F(LimitsTest, VersionOne) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/x\n3:pids:/x/y\n");
  write("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/pids/x/pids.max", "5\n");
  EXPECT_EQ(line("processors by cgroup").value, "0.5");
  EXPECT_EQ(line("threads by cgroup").value, "5");
}

TEST_F(LimitsTest, VersionOneWithoutAQuota) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(line("processors by cgroup").value, "no limit");
}

TEST_F(LimitsTest, NoOvercommitIsSaid) {
  write("/proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_THAT(line("overcommit").value, HasSubstr("every chunk of a heap counts as taken"));
}

}  // namespace
}  // namespace weft::info
