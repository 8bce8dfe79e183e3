// Whose driver tests of GPU memory take: a fake one (tests/support/fake_gpu), HIP's with
// FAKE_GPU_KIND=hip, else CUDA's; compiled for GPUs, that of their kernels.
#pragma once

#include <cstdlib>
#include <string>

#include <weft/options.hpp>
#include <weft/target.hpp>

#include "src/platform/gpu/gpu.hpp"

namespace weft {

inline gpu::Library driver() {
#ifdef FAKE_CUDA_LIBRARY
  const char* const kind = std::getenv("FAKE_GPU_KIND");
  if (kind != nullptr && std::string(kind) == "hip") return {gpu::Kind::kHip, FAKE_HIP_LIBRARY};
  return {gpu::Kind::kCuda, FAKE_CUDA_LIBRARY};
#else
  return {WEFT_TARGET_HIP ? gpu::Kind::kHip : gpu::Kind::kCuda, ""};
#endif
}

inline std::string& library_of(Options& options) {
  return driver().kind == gpu::Kind::kHip ? options.hip_library : options.cuda_library;
}

}  // namespace weft
