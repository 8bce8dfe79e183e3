#include "kernels/fused/gemm_reduce_scatter/one_kernel_kernels_sm90.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "kernels/fused/gemm_reduce_scatter/one_kernel_epilogue_sm90.hpp"
#include "kernels/gemm/launch_sm90.hpp"

namespace weft::kernels::sm90 {
namespace {

template <class T, int kTile>
struct OneKernelLaunch {
  using Launch = sm90::Launch<kTile>;
  static constexpr gemm::Tile kShape = Launch::kShape;
  static constexpr int kDepth = gemm_rs::depth_of(kShape);
  // As Launch has it, but for the stages, of which there are what is left beside a tile.
  template <int kStages>
  using ShapeOf = Shape<T, kShape.m, kShape.n, kStages, kShape.sharing, kDepth>;
  static constexpr int kMostBytes = 227 * 1024;
  static constexpr int stages() {
    using One = ShapeOf<1>;
    const int left = kMostBytes - OneKernelEpilogue<One>::kSharedBytes;
    return std::min(kShape.stages, left / (One::kRingBytes + 2 * 8));
  }
  using S = ShapeOf<stages()>;
  using Epilogue = OneKernelEpilogue<S>;
  using Scheduler = std::conditional_t<kShape.splits, gemm::SplitKScheduler,
                                       gemm::TileScheduler<S::kHasSegments>>;
  using Arguments = Params<S, Scheduler, Epilogue>;
  static constexpr int kBytes = Layout<S, Epilogue>::kBytes;
  static_assert(kBytes <= kMostBytes, "more shared memory than a block can have");

  static const void* entry() {
    return reinterpret_cast<const void*>(&gemm_kernel<S, Scheduler, Epilogue>);
  }
  static cudaError_t prepare() {
    return cudaFuncSetAttribute(entry(), cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  }
  static cudaError_t clusters(int size, int* count) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = launch_config(size, size, kBytes, &attribute, S::kConsumers);
    return cudaOccupancyMaxActiveClusters(count, entry(), &config);
  }
  static cudaError_t run(const OneKernelCall& call) {
    const gemm::Plan& plan = call.plan.gemm;
    Arguments arguments{};
    arguments.a = call.a;
    arguments.b = call.b;
    arguments.rows_a = call.rows_a;
    const int k_blocks = gemm::ceil_div(call.k, kKBlock * kDepth);
    if constexpr (kShape.splits) {
      arguments.scheduler = {plan.rows, plan.columns, kShape.m, kShape.n, plan.cluster, k_blocks};
    } else {
      arguments.scheduler = {1,        0,        plan.rows,      plan.columns, plan.group_rows,
                             kShape.m, kShape.n, kShape.sharing, k_blocks};
    }
    const Team& team = call.members.team;
    const int each = gemm::ceil_div(call.m, team.size);
    const gemm_rs::Rows mine = gemm_rs::rows_of(call.plan.reduction, team.rank, each, call.m);
    arguments.epilogue = {{static_cast<T*>(call.c), call.stride, mine.count, call.n},
                          call.members,
                          call.plan.reduction,
                          plan.rows * plan.columns,
                          plan.columns,
                          call.m,
                          each,
                          mine.first};
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config =
        launch_config(plan.blocks, plan.cluster, kBytes, attributes, S::kConsumers);
    if (kMayStartEarly<S, Epilogue> && plan.starts_early) start_early(&config, attributes);
    config.stream = call.stream;
    void* pointers[] = {&arguments};
    return cudaLaunchKernelExC(&config, entry(), pointers);
  }
};

template <class T, int kTile>
OneKernelEntry kernel_of() {
  if constexpr (gemm_rs::fits_one_kernel(gemm::tile_at(kTile))) {
    using L = OneKernelLaunch<T, kTile>;
    return {&L::prepare, &L::clusters, &L::run, L::Launch::kBoxB, L::Epilogue::kTileWords};
  } else {
    return {};
  }
}

template <class T, int... kTile>
std::array<OneKernelEntry, sizeof...(kTile)> kernels_of(std::integer_sequence<int, kTile...>) {
  return {{kernel_of<T, kTile>()...}};
}

}  // namespace

const OneKernelEntry& one_kernel_entry(DType dtype, int tile) {
  using Tiles = std::make_integer_sequence<int, gemm_rs::kOneKernelTiles.end>;
  static const auto bfloat16 = kernels_of<__nv_bfloat16>(Tiles());
  static const auto float16 = kernels_of<__half>(Tiles());
  return (dtype == DType::kBfloat16 ? bfloat16 : float16)[static_cast<std::size_t>(tile)];
}

}  // namespace weft::kernels::sm90
