#include "src/platform/gpu/image.hpp"

// WEFT_CUDA_IMAGE and WEFT_HIP_IMAGE are the files that the vendors' compilers made, see
// host/kernel/CMakeLists.txt.
#define WEFT_EMBED(name, file)                                                   \
  asm(".section .rodata\n.balign 4096\n" #name ":\n.incbin \"" file "\"\n" #name \
      "_end:\n.byte 0\n.text\n");                                                \
  extern "C" {                                                                   \
  [[gnu::visibility("hidden")]] extern const std::byte name[];                   \
  [[gnu::visibility("hidden")]] extern const std::byte name##_end[];             \
  }

#ifdef WEFT_CUDA_IMAGE
WEFT_EMBED(weft_cuda_image, WEFT_CUDA_IMAGE)
#endif
#ifdef WEFT_HIP_IMAGE
WEFT_EMBED(weft_hip_image, WEFT_HIP_IMAGE)
#endif

namespace weft::gpu {

std::span<const std::byte> kernel_image([[maybe_unused]] Kind kind) {
#ifdef WEFT_CUDA_IMAGE
  if (kind == Kind::kCuda) return {weft_cuda_image, weft_cuda_image_end};
#endif
#ifdef WEFT_HIP_IMAGE
  if (kind == Kind::kHip) return {weft_hip_image, weft_hip_image_end};
#endif
  return {};
}

}  // namespace weft::gpu
