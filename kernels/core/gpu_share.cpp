#include "kernels/core/gpu_share.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "kernels/core/agree.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {

Result<GpuShare> gpu_share(Runtime& runtime) {
  GpuIdentity mine;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (runtime.gpu() >= 0) {
    ASSIGN_OR_RETURN(mine, identity_of_current_gpu());
  }
#endif
  std::vector<std::vector<std::uint64_t>> all;
  ASSIGN_OR_RETURN(
      all,
      exchange_words(runtime, {mine.number, static_cast<std::uint64_t>(mine.multiprocessors)}));
  GpuShare share{mine.multiprocessors, 1};
  std::map<std::uint64_t, int> sharers;  // of each GPU
  for (const std::vector<std::uint64_t>& gpu : all) {
    share.multiprocessors = std::min(share.multiprocessors, static_cast<int>(gpu[1]));
    share.sharers = std::max(share.sharers, ++sharers[gpu[0]]);
  }
  if (share.multiprocessors == 0) return GpuShare{};
  return share;
}

}  // namespace weft::kernels
