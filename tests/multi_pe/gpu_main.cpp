// main() of tests that need a GPU and use nothing of CUDA or HIP themselves.
#include <gtest/gtest.h>

#include "src/platform/gpu/gpu.hpp"
#include "tests/support/gpu_pass.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (const weft::gpu::Kind kind : {weft::gpu::Kind::kCuda, weft::gpu::Kind::kHip})
    if (weft::has_gpu_kernels(kind) && weft::finds_gpu(kind)) return RUN_ALL_TESTS();
  return weft::kSkipped;
}
