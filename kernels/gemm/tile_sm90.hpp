// The kernels of Gemm of one tile, which a file of tiles/ compiles.
#pragma once

#include "kernels/gemm/mainloop_e4m3_sm90.hpp"
#include "kernels/gemm/epilogue_sm90.hpp"
#include "kernels/gemm/launch_sm90.hpp"
#include "kernels/gemm/tile_call_sm90.hpp"

namespace weft::kernels::sm90 {

template <class T, int kTile>
struct TileLaunch {
  static constexpr gemm::Tile kShape = gemm::tile_at(kTile);
  static constexpr bool kIsE4m3 = std::is_same_v<T, gemm::E4m3>;
  using S =
      std::conditional_t<kIsE4m3, E4m3Shape<kShape.m, kShape.n, kShape.stages, kShape.sharing>,
                         Shape<T, kShape.m, kShape.n, kShape.stages, kShape.sharing, kShape.depth>>;
  using Store = StoreEpilogue<S>;
  using L = std::conditional_t<kShape.splits,
                               Launcher<S, gemm::SplitKScheduler, ClusterReduceEpilogue<S>>,
                               Launcher<S, gemm::TileScheduler<S::kHasSegments>, Store>>;

  static cudaError_t run(const Call& call) {
    const gemm::Plan& plan = call.plan;
    const int k_blocks = gemm::ceil_div(call.k, kKBlock * kShape.depth);
    using Element = typename S::Element;
    const Matrix<Element> matrix{static_cast<Element*>(call.data), call.stride, call.m, call.n};
    typename L::Arguments arguments = L::arguments_of(call.operands);
    if constexpr (kIsE4m3) arguments.scales = call.scales;
    if constexpr (S::kHasSegments) {
      arguments.gathered = {call.gathered, call.prologue_wait};
    } else {
      arguments.last = {call.last, call.last_first, call.last_rows};
    }
    if constexpr (kShape.splits) {
      arguments.epilogue = matrix;
      arguments.scheduler = {plan.rows, plan.columns, kShape.m, kShape.n, plan.cluster, k_blocks};
    } else {
      arguments.epilogue = {call.c, matrix, copied_columns(call.n)};
      arguments.scheduler = {plan.segments, call.first,      plan.rows,
                             plan.columns,  plan.group_rows, kShape.m,
                             kShape.n,      kShape.sharing,  k_blocks};
    }
    arguments.loads_b_early = L::may_start_early(plan) && call.constant_b;
    return L::launch(arguments, plan, call.stream);
  }
};

template <class T, int kTile>
KernelEntry<Call> tile_entry() {
  using Tile = TileLaunch<T, kTile>;
  return {&Tile::L::prepare, &Tile::L::clusters, &Tile::run, Tile::S::kBoxB, Tile::Store::kChunk};
}

// A file of tiles/ has one of these once, with the key of a row of tiles.def.hpp.
#define WEFT_COMPILE_TILE(m, n, splits)                                           \
  WEFT_COMPILE_TILE_AS(__nv_bfloat16, weft::kernels::gemm::tile_of(m, n, splits)) \
  WEFT_COMPILE_TILE_AS(__half, weft::kernels::gemm::tile_of(m, n, splits))
#define WEFT_COMPILE_E4M3_TILE(m, n, splits)      \
  WEFT_COMPILE_TILE_AS(weft::kernels::gemm::E4m3, \
                       weft::kernels::gemm::tile_of(m, n, splits, weft::kernels::gemm::kOfE4m3))
#define WEFT_COMPILE_TILE_AS(T, ...)                                     \
  static_assert((__VA_ARGS__) >= 0, "tiles.def.hpp has no row of this"); \
  template weft::kernels::sm90::KernelEntry<weft::kernels::sm90::Call>   \
  weft::kernels::sm90::tile_entry<T, (__VA_ARGS__)>();

}  // namespace weft::kernels::sm90
