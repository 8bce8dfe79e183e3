// What a PE has of its GPU. Kernels that wait for those of other PEs must be on it all at once, so
// PEs that share one have a part each.
#pragma once

#include <cstdint>
#include <vector>

#include <weft/result.hpp>
#include <weft/runtime.hpp>

namespace weft::kernels {

struct GpuIdentity {
  std::uint64_t number = 0;  // this GPU's alone, on all hosts
  int multiprocessors = 0;
  bool clusters = false;  // of blocks, which see one another's shared memory
};
Result<GpuIdentity> identity_of_current_gpu();

struct GpuShare {
  int multiprocessors = 0;  // of the smallest GPU of all PEs
  int sharers = 1;          // of the one that most PEs have
  bool clusters = false;    // all have them
};
// Of PEs on host threads: none, and 1. Collective over the job, as exchange_words() (agree.hpp),
// whose answer for `mine` it gives as well.
Result<GpuShare> gpu_share(Runtime& runtime, const std::vector<std::uint64_t>& mine = {},
                           std::vector<std::vector<std::uint64_t>>* all = nullptr);

}  // namespace weft::kernels
