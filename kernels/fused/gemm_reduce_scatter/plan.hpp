// Whether a GEMM and the sum over the members go at once, and with which tile: pure, so tested
// without a GPU.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/overlapped_scheduler.hpp"
#include "kernels/gemm/plan.hpp"

namespace weft::kernels::gemm_rs {

struct Shape {
  int members;
  int m, n, k;  // m: rows of each
};

// The tiles whose kernels send and add up. Tiles of 256 rows leave no room in shared memory, and a
// chunk of 112 or 208 columns (StoreEpilogue) is not a whole number of the ring's pieces.
constexpr bool scatters(const gemm::Tile& tile) {
  const bool has_pieces = tile.n != 112 && tile.n != 208;
  return !tile.splits && tile.depth == 1 && tile.m <= 128 && has_pieces;
}

struct Plan {
  gemm::Plan gemm;
  int margin = 0;  // of ScatterScheduler, as is is_round_robin
  bool is_round_robin = false;
  double send_us = 0;  // in which a tile is to be sent, for an even stream
  double us = 0;       // expected
};

// The time in us of a collective that follows a GEMM. `bytes`: a member sends them once in an
// AllGather, and twice in an AllReduce.
double all_gather_us(const CollectiveLinks& links, int members, double bytes);
double all_reduce_us(const CollectiveLinks& links, int members, double bytes);

// At once, with that tile of gemm::kTiles, or the best one (-1). Members, m, n, k > 0.
Plan overlapped_plan(const Shape& shape, const DeviceModel& device, int tile = -1);
// us of the GEMM and a ReduceScatter behind it.
double sequential_us(const Shape& shape, const DeviceModel& device, int tile = -1);

ScatterScheduler scheduler_of(const Plan& plan, int k, int rank);

}  // namespace weft::kernels::gemm_rs
