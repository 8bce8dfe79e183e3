// Limits as a container sees them: trees of made-up /proc and /sys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "host/info/sections.hpp"
#include "tests/support/file_tree.hpp"
#include "tests/unit/info/line_of.hpp"

namespace weft::info {
namespace {

using ::testing::HasSubstr;

class LimitsTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const { tree_.write(path, text); }
  Line line(const std::string& name) const { return line_of(limits_section(tree_.root()), name); }

 private:
  FileTree tree_;
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
