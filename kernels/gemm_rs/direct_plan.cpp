#include "kernels/gemm_rs/direct_plan.hpp"

#include <algorithm>
#include <limits>

#include "kernels/gemm_rs/plan.hpp"

namespace weft::kernels::gemm_rs {
namespace {

// The constants are us and bytes per us, measured on two and on four H200 (docs/design/fused.md).
constexpr double kHop = 1.7;            // a word's latency, and the poll that finds it
constexpr double kBytesBehind = 270e3;  // a member's rate behind its last product
// A turn's words beside the products of the next: that long, half of the products' time, since
// these keep memory busy, and the words' own.
constexpr double kTurn = 6.0, kBytesBeside = 480e3, kBytesOfMoreBeside = 265e3;
constexpr double kStart = 4.5;  // a kernel, and a tile beside its products
constexpr int kLeastRows = 64;  // of each, in GemmRs

double bytes_of_sum(const DirectShape& s) { return 2.0 * s.m * s.n; }

struct Sum {
  Way way;
  double hops;   // one after the other
  double times;  // of the sum's bytes that a member sends
};
Sum sum_of(const DirectShape& s, int tiles, double last) {
  const double others = s.members - 1, share = others / s.members;
  if (s.scatters) return {Way::kScatter, 1, share};
  const bool is_shorter = kHop < (others - 2 * share) * last / kBytesBehind;
  if (takes_two_shots(tiles, s.members) && is_shorter) return {Way::kTwoShots, 2, 2 * share};
  return {Way::kOneShot, 1, others};
}

// What splits k has one turn: clusters of so many blocks that there are two are none, nor those of
// which some would have nothing to multiply.
gemm::Machine for_one_turn(const gemm::Tile& tile, const DirectShape& s, gemm::Machine machine) {
  const int tiles = gemm::ceil_div(s.m, tile.m) * gemm::ceil_div(s.n, tile.n);
  const int most = gemm::ceil_div(s.k, 64 * depth_of(tile));
  for (int size = 1; size <= gemm::kMostSplits; ++size) {
    int& clusters = machine.clusters[static_cast<std::size_t>(size)];
    if (clusters < tiles || size > most) clusters = 0;
  }
  return machine;
}

// us from a block's first tile to its last, whose words are sent behind it; `turn`: bytes of one.
double before_last(int members, int turns, double tile_us, double hops, double turn) {
  if (members > 2) return (turns - 1) * std::max(tile_us, tile_us / 2 + turn / kBytesOfMoreBeside);
  const double beside = std::max(tile_us, hops * kTurn + tile_us / 2 + turn / kBytesBeside);
  // What the last turn but one has left goes beside the last one's, half of it for nothing.
  return (turns - 1.5) * beside + tile_us / 2;
}

DirectPlan with(int tile, const DirectShape& s, const gemm::Machine& machine) {
  const gemm::Plan p = gemm::plan(s.m, s.n, s.k, machine, tile, 1, kDirectTiles);
  const int tiles = p.rows * p.columns, at_once = p.blocks / p.cluster;
  const double bytes = bytes_of_sum(s);
  // Those of the last turn are sent when all has been multiplied.
  const double last = bytes * (tiles - (p.turns - 1) * at_once) / tiles;
  const Sum sum = sum_of(s, tiles, last);
  double us = p.us;
  if (p.turns > 1) {
    const double tile_us = gemm::ceil_div(s.k, 64) * gemm::tile_at(tile).slice;
    const double turn = sum.times * (bytes - last) / (p.turns - 1);
    us = std::max(us, kStart + tile_us + before_last(s.members, p.turns, tile_us, sum.hops, turn));
  }
  return {p, sum.way, us + sum.hops * kHop + sum.times * last / kBytesBehind};
}

}  // namespace

DirectPlan direct_plan(const DirectShape& s, const gemm::Machine& machine, int tile) {
  DirectPlan best;
  best.us = std::numeric_limits<double>::infinity();
  for (int i = kDirectTiles.first; i < kDirectTiles.end; ++i) {
    const gemm::Tile& shape = gemm::tile_at(i);
    if (!goes_directly(shape, s.scatters) || (tile >= 0 && tile != i)) continue;
    const gemm::Machine here = shape.sharing == 1 ? for_one_turn(shape, s, machine) : machine;
    const DirectPlan plan = with(i, s, here);
    if (here.clusters[static_cast<std::size_t>(plan.product.cluster)] == 0) continue;
    if (plan.us < best.us) best = plan;
  }
  return best;
}

double indirect_us(const DirectShape& s, const gemm::Machine& machine) {
  const Shape each{s.members, gemm::ceil_div(s.m, s.members), s.n, s.k};
  if (s.scatters) return sequential_us(each, machine);
  const double share = bytes_of_sum(s) * (s.members - 1) / s.members;
  const double in_turn = gemm::plan(s.m, s.n, s.k, machine).us + all_reduce_us(s.members, share);
  if (each.m < kLeastRows) return in_turn;
  return std::min(in_turn, overlapped(each, machine).us + all_gather_us(s.members, share));
}

}  // namespace weft::kernels::gemm_rs
