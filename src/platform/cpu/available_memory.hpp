// How much more memory this process can take before the machine, or the container, runs out.
#pragma once

#include <cstdint>
#include <string>

namespace weft::cpu {

struct AvailableMemory {
  std::uint64_t bytes = 0;  // the largest number when nothing is known
  std::string limit;        // what sets it, for people: "memory limit 512M of cgroup /x", ...
  // More than this is never granted. A machine's free memory is an estimate, since its memory
  // may grow on demand; what it has in all, and the limit of a cgroup, are none.
  std::uint64_t most = 0;
};

// The least of what the machine has and what every cgroup (v1 or v2) above this process leaves.
// `root` stands before /proc and /sys, for tests.
AvailableMemory available_memory(const std::string& root = "");

// "1.5 GiB (1610612736 bytes)"
std::string show_bytes(std::uint64_t bytes);

}  // namespace weft::cpu
