#include "kernels/core/gpu_share.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/core/agree.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {

Result<GpuShare> gpu_share(Runtime& runtime, const std::vector<std::uint64_t>& mine,
                           std::vector<std::vector<std::uint64_t>>* all) {
  GpuIdentity gpu;
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (runtime.gpu() >= 0) {
    ASSIGN_OR_RETURN(gpu, identity_of_current_gpu());
  }
#endif
  std::vector<std::uint64_t> words = mine;
  words.push_back(gpu.number);
  words.push_back(static_cast<std::uint64_t>(gpu.multiprocessors));
  words.push_back(gpu.clusters ? 1 : 0);
  std::vector<std::vector<std::uint64_t>> said;
  ASSIGN_OR_RETURN(said, exchange_words(runtime, words));
  GpuShare share{gpu.multiprocessors, 1, gpu.clusters};
  std::map<std::uint64_t, int> sharers;  // of each GPU
  for (std::vector<std::uint64_t>& pe : said) {
    share.clusters = share.clusters && pe.back() == 1;
    pe.pop_back();
    share.multiprocessors = std::min(share.multiprocessors, static_cast<int>(pe.back()));
    pe.pop_back();
    share.sharers = std::max(share.sharers, ++sharers[pe.back()]);
    pe.pop_back();
  }
  if (all != nullptr) *all = std::move(said);
  if (share.multiprocessors == 0) return GpuShare{};
  return share;
}

}  // namespace weft::kernels
