#include "kernels/fused/gemm_reduce_scatter/one_kernel_kernels_sm90.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/fused/gemm_reduce_scatter/one_kernel_epilogue_sm90.hpp"
#include "kernels/gemm/launch_sm90.hpp"

namespace weft::kernels::sm90 {
namespace {

template <class T, int kTile>
struct OneKernelLaunch {
  static constexpr gemm::Tile kShape = gemm::tile_at(kTile);
  static constexpr int kDepth = gemm_rs::depth_of(kShape);
  // As Gemm has it, but for the stages, of which there are what is left beside a tile.
  template <int kStages>
  using ShapeOf = Shape<T, kShape.m, kShape.n, kStages, kShape.sharing, kDepth>;
  static constexpr int stages() {
    using One = ShapeOf<1>;
    const int left = kMostSharedBytes - OneKernelEpilogue<One>::kSharedBytes;
    return std::min(kShape.stages, left / (One::kRingBytes + 2 * 8));
  }
  using S = ShapeOf<stages()>;
  using Scheduler = std::conditional_t<kShape.splits, gemm::SplitKScheduler,
                                       gemm::TileScheduler<S::kHasSegments>>;
  using L = Launcher<S, Scheduler, OneKernelEpilogue<S>>;

  static cudaError_t run(const OneKernelCall& call) {
    const gemm::Plan& plan = call.plan.gemm;
    typename L::Arguments arguments = L::arguments_of(call.operands);
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
    return L::launch(arguments, plan, call.stream);
  }
};

template <class T, int kTile>
struct OneKernelOf {
  static constexpr bool kExists =
      kTile < gemm_rs::kOneKernelTiles.end && gemm_rs::fits_one_kernel(gemm::tile_at(kTile));
  static KernelEntry<OneKernelCall> entry() {
    using Kernel = OneKernelLaunch<T, kTile>;
    return {&Kernel::L::prepare, &Kernel::L::clusters, &Kernel::run, Kernel::S::kBoxB, 0,
            Kernel::L::Epilogue::kTileWords};
  }
};

}  // namespace

const KernelEntry<OneKernelCall>& one_kernel_entry(DType dtype, int tile) {
  return KernelTable<OneKernelCall, OneKernelOf>::of(dtype)[static_cast<std::size_t>(tile)];
}

}  // namespace weft::kernels::sm90
