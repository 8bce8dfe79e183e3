// Whether a product and the sum over the members go at once, and with which tile: pure, so tested
// without a GPU.
#pragma once

#include "kernels/gemm/plan.hpp"
#include "kernels/gemm_rs/scatter_order.hpp"

namespace weft::kernels::gemm_rs {

struct Shape {
  int members;
  int m, n, k;  // m: rows of each
};

// The tiles whose kernels send and add up. Tiles of 256 rows leave no room in shared memory, and a
// chunk of 112 or 208 columns (StoreSink) is not a whole number of the ring's pieces.
constexpr bool scatters(const gemm::Tile& tile) {
  const bool has_pieces = tile.n != 112 && tile.n != 208;
  return !tile.splits && tile.depth == 1 && tile.m <= 128 && has_pieces;
}

struct Plan {
  gemm::Plan product;
  int margin = 0;  // of ScatterOrder, as is in_turn
  bool in_turn = false;
  double send_us = 0;  // in which a tile is to be sent, for an even stream
  double us = 0;       // expected
};

// The time in us of a collective that follows a product. `bytes`: a member sends them once in an
// AllGather, and twice in an AllReduce.
double all_gather_us(int members, double bytes);
double all_reduce_us(int members, double bytes);

// At once, with that tile of gemm::kTiles, or the best one (-1). Members, m, n, k > 0.
Plan overlapped(const Shape& shape, const gemm::Machine& machine, int tile = -1);
// us of the product and a ReduceScatter behind it.
double sequential_us(const Shape& shape, const gemm::Machine& machine, int tile = -1);

ScatterOrder order_of(const Plan& plan, int k, int rank);

}  // namespace weft::kernels::gemm_rs
