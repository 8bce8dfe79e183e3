// How much memory is left, read from made-up /proc and /sys trees.
#include "src/platform/cpu/available_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/support/file_tree.hpp"

namespace weft::cpu {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class Tree : public FileTree {
 public:
  Tree& file(const std::string& path, const std::string& text) {
    write(path, text);
    return *this;
  }
  AvailableMemory room() const { return available_memory(root()); }
};

const std::string kMeminfo =
    "MemTotal:  2048000 kB\nMemFree: 1 kB\nMemAvailable:    1024000 kB\nSwapTotal: 9 kB\n"
    "SwapFree:        1024 kB\n";

TEST(AvailableMemory, NothingKnownIsNoLimit) {
  EXPECT_EQ(Tree().room().bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Tree().room().most, std::numeric_limits<std::uint64_t>::max());
}

TEST(AvailableMemory, TheMachine) {
  const AvailableMemory room = Tree().file("/proc/meminfo", kMeminfo).room();
  EXPECT_EQ(room.bytes, 1001 * kMiB);
  EXPECT_EQ(room.limit, "the memory of this machine");
  EXPECT_EQ(room.most, (2048000u + 9u) * 1024)
      << "what is free is an estimate, what it has is none";
}

TEST(AvailableMemory, CgroupTwoAndWhatCanBeReclaimed) {
  Tree tree;
  tree.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "0::/user/job\n")
      .file("/sys/fs/cgroup/user/job/memory.max", "268435456\n")
      .file("/sys/fs/cgroup/user/job/memory.current", "201326592\n")
      .file("/sys/fs/cgroup/user/job/memory.stat", "anon 5\ninactive_file 67108864\n");
  EXPECT_EQ(tree.room().bytes, 128 * kMiB);
  EXPECT_EQ(tree.room().most, 128 * kMiB) << "a cgroup's limit is certain";
  EXPECT_THAT(tree.room().limit, testing::HasSubstr("256 MiB"));
  EXPECT_THAT(tree.room().limit, testing::HasSubstr("in cgroup /user/job"));
  // A limit above it is felt, too.
  tree.file("/sys/fs/cgroup/user/memory.max", "104857600\n")
      .file("/sys/fs/cgroup/user/memory.current", "94371840\n");
  EXPECT_EQ(tree.room().bytes, 10 * kMiB);
  EXPECT_THAT(tree.room().limit, testing::HasSubstr("in cgroup /user"));
}

TEST(AvailableMemory, CgroupTwoWithoutLimit) {
  const AvailableMemory room = Tree()
                                   .file("/proc/meminfo", kMeminfo)
                                   .file("/proc/self/cgroup", "0::/a\n")
                                   .file("/sys/fs/cgroup/a/memory.max", "max\n")
                                   .file("/sys/fs/cgroup/a/memory.current", "5\n")
                                   .room();
  EXPECT_EQ(room.bytes, 1001 * kMiB);
}

TEST(AvailableMemory, AContainerSeesItsLimitAtTheMountPoint) {
  const AvailableMemory room = Tree()
                                   .file("/proc/self/cgroup", "0::/docker/0123\n")
                                   .file("/sys/fs/cgroup/memory.max", "104857600\n")
                                   .file("/sys/fs/cgroup/memory.current", "0\n")
                                   .room();
  EXPECT_EQ(room.bytes, 100 * kMiB);
}

TEST(AvailableMemory, CgroupOne) {
  Tree tree;
  tree.file("/proc/meminfo", kMeminfo)
      .file("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/jobs\n0::/\n")
      .file("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "104857600\n")
      .file("/sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "73400320\n")
      .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "73400320\n");
  EXPECT_EQ(tree.room().bytes, 30 * kMiB);
  // Above its limit (it was lowered): nothing left, and no wrap-around.
  tree.file("/sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "204857600\n");
  EXPECT_EQ(tree.room().bytes, 0u);
}

TEST(AvailableMemory, SillyFilesAreNoLimit) {
  const AvailableMemory room = Tree()
                                   .file("/proc/meminfo", "MemAvailable: lots\n\n:\n")
                                   .file("/proc/self/cgroup", "\n:\n::\n0:\nx")
                                   .file("/sys/fs/cgroup/memory.max", "-")
                                   .room();
  EXPECT_EQ(room.bytes, std::numeric_limits<std::uint64_t>::max());
}

TEST(AvailableMemory, ThisMachineHasSome) { EXPECT_GT(available_memory().bytes, 0u); }

TEST(ShowBytes, InWords) {
  EXPECT_EQ(show_bytes(0), "0 bytes");
  EXPECT_EQ(show_bytes(1023), "1023 bytes");
  EXPECT_EQ(show_bytes(1536), "1.5 KiB (1536 bytes)");
  EXPECT_EQ(show_bytes(kMiB), "1 MiB (1048576 bytes)");
  EXPECT_EQ(show_bytes(std::uint64_t{3} << 60), "3072 PiB (3458764513820540928 bytes)");
}

}  // namespace
}  // namespace weft::cpu
