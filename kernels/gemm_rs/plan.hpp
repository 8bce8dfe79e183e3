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

// Tiles whose kernels send and add up: for those of 256 rows there is no room in shared memory.
constexpr bool scatters(const gemm::Tile& tile) {
  return !tile.splits && tile.depth == 1 && tile.m <= 128;
}

struct Plan {
  gemm::Plan product;
  int margin = 0;  // of ScatterOrder, as is in_turn
  bool in_turn = false;
  double send_us = 0;  // in which a tile is to be sent, for an even stream
  double us = 0;       // expected
};

// At once, with that tile of gemm::kTiles, or the best one (-1). Members, m, n, k > 0.
Plan overlapped(const Shape& shape, const gemm::Machine& machine, int tile = -1);
// us of the product and a ReduceScatter behind it.
double sequential_us(const Shape& shape, const gemm::Machine& machine, int tile = -1);

ScatterOrder order_of(const Plan& plan, int k, int rank);

}  // namespace weft::kernels::gemm_rs
