// The one launcher of gemm_kernel: what all kernels that are made of it have in common, as the host
// sees them.
#pragma once

#include "kernels/gemm/kernel_sm90.hpp"
#include "kernels/gemm/kernel_entry_sm90.hpp"

namespace weft::kernels::sm90 {

inline constexpr int kMostSharedBytes = 227 * 1024;  // of a block

template <class Shape_, class Scheduler_, class Epilogue_>
struct Launcher {
  using Shape = Shape_;
  using Scheduler = Scheduler_;
  using Epilogue = Epilogue_;
  using Arguments = Params<Shape, Scheduler, Epilogue>;
  static constexpr int kBytes = Layout<Shape, Epilogue>::kBytes;
  static_assert(kBytes <= kMostSharedBytes, "more shared memory than a block can have");

  static const void* entry() {
    return reinterpret_cast<const void*>(&gemm_kernel<Shape, Scheduler, Epilogue>);
  }
  static cudaError_t prepare() {
    return cudaFuncSetAttribute(entry(), cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  }
  static cudaError_t clusters(int size, int* count) {
    cudaLaunchAttribute cluster = cluster_of(size);
    cudaLaunchConfig_t config = config_of(size);
    config.attrs = &cluster;
    config.numAttrs = 1;
    return cudaOccupancyMaxActiveClusters(count, entry(), &config);
  }

  // Without the epilogue's parameters and the scheduler.
  static Arguments arguments_of(const Operands& operands) {
    Arguments arguments{};
    arguments.a = operands.a;
    arguments.b = operands.b;
    arguments.rows_a = operands.rows_a;
    return arguments;
  }
  static bool may_start_early(const gemm::Plan& plan) {
    return kMayStartEarly<Shape, Epilogue> && plan.starts_early;
  }
  // Blocks by themselves are clusters of one: without the attribute 16 rows of 5120 x 3200 took 20
  // us instead of 11.5.
  static cudaError_t launch(Arguments& arguments, const gemm::Plan& plan, cudaStream_t stream) {
    cudaLaunchAttribute attributes[] = {cluster_of(plan.cluster), {}};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = config_of(plan.blocks);
    config.attrs = attributes;
    config.numAttrs = may_start_early(plan) ? 2 : 1;
    config.stream = stream;
    void* pointers[] = {&arguments};
    return cudaLaunchKernelExC(&config, entry(), pointers);
  }

 private:
  static cudaLaunchAttribute cluster_of(int size) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(size);
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    return attribute;
  }
  static cudaLaunchConfig_t config_of(int blocks) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(Shape::kThreads);
    config.dynamicSmemBytes = static_cast<std::size_t>(kBytes);
    return config;
  }
};

}  // namespace weft::kernels::sm90
