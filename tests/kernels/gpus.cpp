// main() of the tests on GPUs: skipped where there is none. A PE is a thread; they take the GPUs
// one after the other, and may share them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include <weft/device.hpp>

int main(int argc, char** argv) {
  // Kernels that wait for each other must not wait for one that is loaded at its first launch, nor
  // for another in the same hardware queue. Both are read when the first GPU is looked at.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::testing::InitGoogleTest(&argc, argv);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::puts("skipped: the CUDA runtime finds no GPU");
    return 77;  // what ctest takes for a skipped test
  }
  for (int gpu = 0; gpu < count; ++gpu) {
    cudaSetDevice(gpu);
    cudaDeviceSetLimit(cudaLimitStackSize, 8192);  // no room is made for stacks while kernels run
  }
  return RUN_ALL_TESTS();
}
