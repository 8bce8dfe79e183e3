// The one launcher of gemm_kernel: what all kernels that are made of it have in common, as the host
// sees them.
#pragma once

#include "kernels/gemm/kernel_entry_sm90.hpp"
#include "kernels/gemm/kernel_sm90.hpp"
#include "kernels/gemm/launch_grid_cuda.hpp"

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
  static cudaError_t prepare() { return gemm::prepare(entry(), kBytes); }
  static cudaError_t clusters(int size, int* count) {
    return gemm::most_clusters(entry(), {size, size, Shape::kThreads, kBytes}, count);
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
  static cudaError_t launch(Arguments& arguments, const gemm::Plan& plan, cudaStream_t stream) {
    return gemm::launch(
        entry(),
        {plan.blocks, plan.cluster, Shape::kThreads, kBytes, stream, may_start_early(plan)},
        arguments);
  }
};

}  // namespace weft::kernels::sm90
