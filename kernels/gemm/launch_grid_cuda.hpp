// Grids of clusters on NVIDIA's GPUs from compute capability 9.0 on: how a kernel is prepared and
// launched, of the GEMM or of another one beside it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace weft::kernels::gemm {

struct LaunchGrid {
  int blocks, cluster;  // blocks of the grid, and of each cluster
  int threads, shared_bytes;
  cudaStream_t stream = nullptr;
  bool starts_early = false;  // before the kernel before it is over
};

// Once on each GPU before the first launch().
inline cudaError_t prepare(const void* kernel, int shared_bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
}

// A grid and its attributes as CUDA has them, which point to each other.
class LaunchConfig {
 public:
  // Blocks by themselves are clusters of one: without the attribute a GEMM of 16 rows of 5120 x
  // 3200 took 20 us instead of 11.5.
  explicit LaunchConfig(const LaunchGrid& grid) {
    attributes_[0].id = cudaLaunchAttributeClusterDimension;
    attributes_[0].val.clusterDim.x = static_cast<unsigned>(grid.cluster);
    attributes_[0].val.clusterDim.y = attributes_[0].val.clusterDim.z = 1;
    attributes_[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes_[1].val.programmaticStreamSerializationAllowed = 1;
    config_.gridDim = dim3(static_cast<unsigned>(grid.blocks));
    config_.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config_.dynamicSmemBytes = static_cast<std::size_t>(grid.shared_bytes);
    config_.stream = grid.stream;
    config_.attrs = attributes_;
    config_.numAttrs = grid.starts_early ? 2 : 1;
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;
  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attributes_[2]{};
  cudaLaunchConfig_t config_{};
};

// How many of the grid's clusters run at a time.
inline cudaError_t most_clusters(const void* kernel, const LaunchGrid& grid, int* count) {
  return cudaOccupancyMaxActiveClusters(count, kernel, LaunchConfig(grid).get());
}

template <class Argument>
cudaError_t launch(const void* kernel, const LaunchGrid& grid, Argument& argument) {
  void* pointers[] = {&argument};
  return cudaLaunchKernelExC(LaunchConfig(grid).get(), kernel, pointers);
}

}  // namespace weft::kernels::gemm
