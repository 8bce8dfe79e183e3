// main() of tests that need a GPU and use nothing of CUDA or HIP themselves.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "src/platform/gpu/gpu.hpp"

int main(int argc, char** argv) {
  // Kernels that wait for each other must not wait for one that is loaded at its first launch, nor
  // for another in the same hardware queue. The driver reads both when it starts.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::testing::InitGoogleTest(&argc, argv);
  for (const weft::gpu::Kind kind : {weft::gpu::Kind::kCuda, weft::gpu::Kind::kHip}) {
    if (!weft::has_gpu_kernels(kind)) continue;
    const auto gpus = weft::gpu::gpus({kind, ""});
    if (gpus && !gpus->empty()) return RUN_ALL_TESTS();
    std::printf("skipped: %s\n",
                gpus ? "there is no GPU" : std::string(gpus.status().text()).c_str());
  }
  return 77;  // what ctest takes for a skipped test
}
