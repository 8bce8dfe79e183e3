#include "kernels/gemm_rs/plan.hpp"

#include <algorithm>
#include <cmath>

namespace weft::kernels::gemm_rs {
namespace {

// Measured on two H100 (docs/design/fused.md), in us and bytes a us.
constexpr double kBytesOfLinks = 345e3;
constexpr double kBytesOfFold = 25e3;  // of a block, that adds what others have sent
constexpr double kScatterStart = 4.0;  // ReduceScatter by itself
constexpr double kScatterBytes = 300e3;

double bytes_sent(const Shape& s) { return 2.0 * (s.members - 1) * s.m * s.n; }

Plan with(int tile, const Shape& s, const gemm::Machine& machine) {
  Plan p;
  p.product = gemm::plan(s.m, s.n, s.k, machine, tile, s.members);
  const gemm::Tile& t = gemm::kTiles[static_cast<std::size_t>(tile)];
  const int clusters = p.product.blocks / p.product.cluster;
  // What is sent while a tile is multiplied has come when the same tile of mine is done.
  p.margin = std::min(clusters, p.product.rows * p.product.columns);
  p.send_us = 0.8 * gemm::ceil_div(s.k, 64) * t.slice;
  const double folds = static_cast<double>(p.product.turns) / s.members + 1;  // of a block
  const double fold_us = folds * (s.members - 1) * 2.0 * t.m * t.n / kBytesOfFold;
  p.us = std::max(p.product.us + fold_us, bytes_sent(s) / kBytesOfLinks + p.product.us / s.members);
  return p;
}

}  // namespace

Plan overlapped(const Shape& shape, const gemm::Machine& machine, int tile) {
  Plan best;
  best.us = HUGE_VAL;
  for (int i = 0; i < static_cast<int>(gemm::kTiles.size()); ++i) {
    if ((tile >= 0 && i != tile) || !scatters(gemm::kTiles[static_cast<std::size_t>(i)])) continue;
    const Plan p = with(i, shape, machine);
    if (p.us < best.us) best = p;
  }
  return best;
}

double sequential_us(const Shape& s, const gemm::Machine& machine, int tile) {
  return gemm::plan(s.members * s.m, s.n, s.k, machine, tile).us + kScatterStart +
         bytes_sent(s) / kScatterBytes;
}

ScatterOrder order_of(const Plan& plan, int k, int rank) {
  const gemm::Plan& p = plan.product;
  const gemm::Tile& tile = gemm::kTiles[static_cast<std::size_t>(p.tile)];
  return {{1, 0, p.rows, p.columns, p.band, tile.m, tile.n, tile.sharing, gemm::ceil_div(k, 64)},
          p.segments,
          rank,
          plan.margin};
}

}  // namespace weft::kernels::gemm_rs
