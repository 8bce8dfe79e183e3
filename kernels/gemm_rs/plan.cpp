#include "kernels/gemm_rs/plan.hpp"

#include <algorithm>
#include <cmath>

namespace weft::kernels::gemm_rs {
namespace {

// Measured on two H200 and four H100 (docs/design/fused.md), in us and bytes a us.
constexpr double kBegin = 4.5;           // a kernel, and a tile beside its products
constexpr double kEnd = 3.0;             // the last tile is added up and stored
constexpr double kSlower = 0.3e-6;       // us that products lose for a byte sent beside them
constexpr double kBytesBeside = 300e3;   // of a GPU beside a product
constexpr double kBytesOfLinks = 330e3;  // of a GPU
constexpr double kLatency = 2.5;         // of what is sent, and of its flag
constexpr double kSending = 0.7;         // of the time for a tile: the rest is its flag's
constexpr double kFlag = 1.5;            // of a tile, where sending takes longest
constexpr double kScatterStart = 7.0;    // ReduceScatter by itself
constexpr double kScatterBytes = 300e3;

double bytes_sent(const Shape& s) { return 2.0 * (s.members - 1) * s.m * s.n; }

// us for 64 along k that a tile takes longer than in a Gemm: the largest have fewer stages here.
double longer(const gemm::Tile& tile) {
  return tile.n == 160   ? 0.02
         : tile.n == 192 ? 0.04
         : tile.n == 224 ? 0.07
         : tile.n == 256 ? 0.05
                         : 0;
}

Plan with(int tile, const Shape& s, const gemm::Machine& machine) {
  Plan p;
  p.product = gemm::plan(s.m, s.n, s.k, machine, tile, s.members);
  const gemm::Tile& t = gemm::kTiles[static_cast<std::size_t>(tile)];
  const int clusters = p.product.blocks / p.product.cluster;
  const int tiles = p.product.rows * p.product.columns;  // of a segment
  const double slices = gemm::ceil_div(s.k, 64), tile_us = slices * (t.slice + longer(t));
  // What is sent while a tile is multiplied has come when the same tile of mine is done.
  p.margin = std::min(clusters, tiles);
  // As fast as links take it when all blocks send, as they do first; but a tile's time is all there
  // is, unless links need more in all.
  const int sending = std::min(clusters, (s.members - 1) * tiles) * p.product.cluster;
  const double link_us = 2.0 * t.m * t.n * sending / kBytesOfLinks;
  const bool links_last = s.members > 2 && (s.members - 1) * link_us > s.members * tile_us;
  p.send_us =
      links_last ? kSending * link_us : std::min(link_us, std::max(0.0, tile_us - kLatency));
  // All links carry alike then; but operands of all owners' tiles are in use, for which caches are
  // too small where there are many.
  p.in_turn = links_last || tiles <= clusters;
  const double product = p.product.us + p.product.turns * slices * longer(t);
  const double sent = kBegin + tile_us + bytes_sent(s) / kBytesBeside + p.product.turns * kFlag;
  p.us = std::max(product + kSlower * bytes_sent(s), sent) + kEnd;
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

// The constants are us and bytes per us, measured on two and on four H200.
double all_gather_us(int members, double bytes) {
  return members > 2 ? 9.0 + bytes / 335e3 : 4.0 + bytes / 340e3;
}

double all_reduce_us(int members, double bytes) {
  if (members == 2) return 4.0 + 2 * bytes / 350e3;
  constexpr double kBytes = 335e3;
  // One shot sends everything to every member; two shots send twice a share.
  return std::min(4.6 + 4 * bytes / kBytes, 8.0 + 2 * bytes / kBytes);
}

ScatterOrder order_of(const Plan& plan, int k, int rank) {
  const gemm::Plan& p = plan.product;
  const gemm::Tile& tile = gemm::kTiles[static_cast<std::size_t>(p.tile)];
  return {{1, 0, p.rows, p.columns, p.band, tile.m, tile.n, tile.sharing, gemm::ceil_div(k, 64)},
          p.segments,
          rank,
          plan.margin,
          plan.in_turn};
}

}  // namespace weft::kernels::gemm_rs
