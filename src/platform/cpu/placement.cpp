#include "src/platform/cpu/placement.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "src/base/files.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::cpu {
namespace {

constexpr const char* kShmemSwitch = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

// The chosen word of "always within_size advise [never] deny force"; "" without such a switch.
std::string shmem_policy() {
  const std::string words = file_text(kShmemSwitch);
  const auto open = words.find('[');
  const auto close = words.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return "";
  return words.substr(open + 1, close - open - 1);
}

bool several_nodes() {
  static const bool several = [] {
    const std::string nodes = file_text("/sys/devices/system/node/online");  // "0" or "0-1,4"
    return nodes.find_first_of("-,") != std::string::npos;
  }();
  return several;
}

}  // namespace

Result<bool> use_huge_pages(Range range, const MemoryHints& hints) {
  if (!hints.huge_pages_wanted && !hints.huge_pages_needed) {
    ::madvise(range.base, range.bytes, MADV_NOHUGEPAGE);  // a kernel without them refuses: fine
    return false;
  }
  std::string why;
  if (range.bytes < kHugePage) {
    why =
        fmt::format("a chunk of {} bytes is smaller than a huge page of {}; raise WEFT_HEAP_CHUNK",
                    range.bytes, kHugePage);
  } else if (const std::string policy = shmem_policy(); policy.empty()) {
    why = fmt::format("this kernel has none for shared memory (no {})", kShmemSwitch);
  } else if (policy == "never" || policy == "deny") {
    why = fmt::format("{} says {}; as root: echo advise > {}", kShmemSwitch, policy, kShmemSwitch);
  } else if (::madvise(range.base, range.bytes, MADV_HUGEPAGE) != 0) {
    why = fmt::format("madvise: {}", std::strerror(errno));
  } else {
    return true;
  }
  if (!hints.huge_pages_needed) return false;
  return Status::error(Code::kUnsupported,
                       fmt::format("no huge pages for the heap: {}. Or do without: "
                                   "WEFT_HUGE_PAGES=auto",
                                   why));
}

void prefer_local_node(Range range) {
  if (!several_nodes()) return;
  unsigned cpu = 0;
  unsigned node = 0;
  if (::syscall(SYS_getcpu, &cpu, &node, nullptr) != 0) return;
  constexpr unsigned kMostNodes = 1024;
  constexpr unsigned kWord = 8 * sizeof(unsigned long);
  std::array<unsigned long, kMostNodes / kWord> mask{};
  if (node >= kMostNodes) return;
  mask[node / kWord] |= 1UL << (node % kWord);
  if (::syscall(SYS_mbind, range.base, range.bytes, MPOL_PREFERRED, mask.data(), kMostNodes, 0U) !=
      0) {
    LOG(kInfo, "platform", "heap memory is not placed on NUMA node {}: mbind: {}", node,
        std::strerror(errno));
  }
}

}  // namespace weft::cpu
