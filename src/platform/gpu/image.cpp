#include "src/platform/gpu/image.hpp"

// WEFT_CUDA_IMAGE is the file that nvcc made, see host/kernel/CMakeLists.txt.
#ifdef WEFT_CUDA_IMAGE
asm(R"(
  .section .rodata
  .balign 64
weft_cuda_image:
  .incbin ")" WEFT_CUDA_IMAGE R"("
weft_cuda_image_end:
  .byte 0
  .text
)");
extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte weft_cuda_image[];
[[gnu::visibility("hidden")]] extern const std::byte weft_cuda_image_end[];
}
#endif

namespace weft::gpu {

std::span<const std::byte> kernel_image() {
#ifdef WEFT_CUDA_IMAGE
  return {weft_cuda_image, weft_cuda_image_end};
#else
  return {};
#endif
}

}  // namespace weft::gpu
