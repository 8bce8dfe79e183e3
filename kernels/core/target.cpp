#include "kernels/core/target.hpp"

namespace weft::kernels {

Result<Target> target_of(const Runtime& runtime) {
  if (runtime.gpu() < 0) return Target::kCpu;
#if defined(WEFT_HAS_CUDA_KERNELS)
  return Target::kCuda;
#else
  return Status::error(
      Code::kUnsupported,
      "this libweft_kernels has no kernels for GPUs, and the runtime has one: configure Weft with "
      "-DWEFT_CUDA=ON, or run on host threads with WEFT_GPU=off");
#endif
}

}  // namespace weft::kernels
