#include "kernels/fused/gemm_reduce_scatter/plan.hpp"

#include <algorithm>
#include <cmath>

namespace weft::kernels::gemm_rs {
namespace {

// Measured on two H200 and four H100 (docs/measurements/2026-11-26-gemm-reduce-scatter.md), in us.
constexpr double kBegin = 4.5;    // a kernel, and a tile beside its products
constexpr double kEnd = 3.0;      // the last tile is added up and stored
constexpr double kSending = 0.7;  // of the time for a tile: the rest is its flag's
constexpr double kFlag = 1.5;     // of a tile, where sending takes longest

double bytes_sent(const Shape& s) { return 2.0 * (s.members - 1) * s.m * s.n; }

// us for 64 along k that a tile takes longer than in a Gemm: the largest have fewer stages here.
double longer(const gemm::Tile& tile) {
  return tile.n == 160   ? 0.02
         : tile.n == 192 ? 0.04
         : tile.n == 224 ? 0.07
         : tile.n == 256 ? 0.05
                         : 0;
}

Plan with(int tile, const Shape& s, const DeviceModel& device) {
  const ScatterLinks& links = device.links.scatter;
  Plan p;
  p.gemm = gemm::plan(s.m, s.n, s.k, device, tile, s.members);
  const gemm::Tile& t = gemm::kTiles[static_cast<std::size_t>(tile)];
  const int clusters = p.gemm.blocks / p.gemm.cluster;
  const int tiles = p.gemm.rows * p.gemm.columns;  // of a segment
  const double k_blocks = gemm::ceil_div(s.k, 64), tile_us = k_blocks * (t.k_block_us + longer(t));
  // Data that are sent while a tile is multiplied have come when the same tile of mine is done.
  p.margin = std::min(clusters, tiles);
  // As fast as links take it when all blocks send, as they do first; but a tile's time is all there
  // is, unless links need more in all.
  const int sending = std::min(clusters, (s.members - 1) * tiles) * p.gemm.cluster;
  const double link_us = 2.0 * t.m * t.n * sending / links.rate;
  const bool links_last = s.members > 2 && (s.members - 1) * link_us > s.members * tile_us;
  p.send_us =
      links_last ? kSending * link_us : std::min(link_us, std::max(0.0, tile_us - links.latency));
  // All links carry alike then; but operands of all owners' tiles are in use, for which caches are
  // too small where there are many.
  p.is_round_robin = links_last || tiles <= clusters;
  const double gemm_us = p.gemm.us + p.gemm.waves * k_blocks * longer(t);
  const double sent = kBegin + tile_us + bytes_sent(s) / links.beside_rate + p.gemm.waves * kFlag;
  p.us = std::max(gemm_us + links.slowdown * bytes_sent(s), sent) + kEnd;
  return p;
}

}  // namespace

Plan overlapped_plan(const Shape& shape, const DeviceModel& device, int tile) {
  Plan best;
  best.us = HUGE_VAL;
  for (int i = 0; i < static_cast<int>(gemm::kTiles.size()); ++i) {
    if ((tile >= 0 && i != tile) || !scatters(gemm::kTiles[static_cast<std::size_t>(i)])) continue;
    const Plan p = with(i, shape, device);
    if (p.us < best.us) best = p;
  }
  return best;
}

double sequential_us(const Shape& s, const DeviceModel& device, int tile) {
  const Transfer& scatter = device.links.scatter.reduce_scatter;
  return gemm::plan(s.members * s.m, s.n, s.k, device, tile).us + scatter.start +
         bytes_sent(s) / scatter.rate;
}

double all_gather_us(const CollectiveLinks& links, int members, double bytes) {
  return links.all_gather[members > 2 ? 1 : 0].us(bytes);
}

double all_reduce_us(const CollectiveLinks& links, int members, double bytes) {
  if (members == 2) return links.all_reduce.us(2 * bytes);
  // One shot sends everything to every member; two shots send twice a share.
  return std::min(links.one_shot_all_reduce.us(4 * bytes), links.two_shot_all_reduce.us(2 * bytes));
}

ScatterScheduler scheduler_of(const Plan& plan, int k, int rank) {
  const gemm::Plan& p = plan.gemm;
  const gemm::Tile& tile = gemm::kTiles[static_cast<std::size_t>(p.tile)];
  return {
      {1, 0, p.rows, p.columns, p.group_rows, tile.m, tile.n, tile.sharing, gemm::ceil_div(k, 64)},
      p.segments,
      rank,
      plan.margin,
      plan.is_round_robin};
}

}  // namespace weft::kernels::gemm_rs
