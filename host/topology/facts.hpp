// Facts about the place a PE runs in. Plain data: PEs exchange them as bytes, tests record them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <weft/result.hpp>

#include "src/platform/platform.hpp"

namespace weft {

struct Facts {
  char host[64] = {};       // name, for people
  char boot_id[40] = {};    // same kernel, same boot: tells hosts apart where names lie
  Uuid process = {};        // random, one per process
  std::uint64_t netns = 0;  // network namespace: abstract sockets live in one
  std::uint32_t uid = 0;
  std::int32_t pid = 0;                      // in its own pid namespace, for people
  std::int32_t numa_node = -1;               // of the thread that asked; -1: not known
  std::int32_t cores = 0;                    // that this process may run on
  std::int32_t gpus = 0;                     // that this PE may use; discover() does not look
  std::uint32_t gpu_kind = 0;                // of those: a gpu::Kind
  std::int32_t part = 0;                     // of the machine, where one plays several hosts
  std::uint64_t memory = ~std::uint64_t{0};  // bytes that this process can still take
  std::uint64_t address_space = ~std::uint64_t{0};  // and reserve; the largest number: no limit

  std::string_view host_name() const { return host; }
  std::string_view boot() const { return boot_id; }
};

bool same_machine(const Facts& a, const Facts& b);
bool same_host(const Facts& a, const Facts& b);  // a part of a machine counts as one
// For each PE the first that is on its host, in time that grows little faster than the job.
std::vector<int> hosts_of(const std::vector<Facts>& facts);
bool same_process(const Facts& a, const Facts& b);

// Why memory of `theirs` cannot be mapped by `mine`, and how to mend it; "" if it can. Pure.
std::string why_not_mapped(const Facts& mine, const Facts& theirs);

// Which part of a machine that plays `hosts` hosts a PE is on: equal shares, in turn.
inline std::int32_t part_of_machine(std::int64_t hosts, int pe, int npes) {
  return static_cast<std::int32_t>(hosts * pe / npes);
}

// Looks around; the part is left to who knows. Linux.
Result<Facts> discover();

}  // namespace weft
