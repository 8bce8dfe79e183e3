#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"

#include <algorithm>
#include <limits>

#include "kernels/fused/gemm_reduce_scatter/plan.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr double kStart = 4.5;  // us: a kernel, and a tile beside its products
constexpr int kLeastRows = 64;  // of each, in GemmRs

double bytes_of_sum(const OneKernelShape& s) { return 2.0 * s.m * s.n; }

struct Sum {
  Reduction reduction;
  double hops;   // one after the other
  double times;  // of the sum's bytes that a member sends
};
Sum sum_of(const OneKernelShape& s, const LamportLinks& links, int tiles, double last) {
  const double others = s.members - 1, share = others / s.members;
  if (s.scatters) return {Reduction::kScatter, 1, share};
  const bool is_shorter = links.hop < (others - 2 * share) * last / links.behind_rate;
  if (takes_two_shots(tiles, s.members) && is_shorter) return {Reduction::kTwoShot, 2, 2 * share};
  return {Reduction::kOneShot, 1, others};
}

// Tiles that split k have one wave: sizes of clusters of which too few run at a time are left out,
// and so are those with which some blocks would have nothing to multiply.
DeviceModel for_one_wave(const gemm::Tile& tile, const OneKernelShape& s, DeviceModel device) {
  const int tiles = gemm::ceil_div(s.m, tile.m) * gemm::ceil_div(s.n, tile.n);
  const int most = gemm::ceil_div(s.k, 64 * depth_of(tile));
  for (int size = 1; size <= kMostSplits; ++size) {
    int& clusters = device.clusters[static_cast<std::size_t>(size)];
    if (clusters < tiles || size > most) clusters = 0;
  }
  return device;
}

// us from a block's first tile to its last, whose words are sent behind it; `wave`: bytes of one.
// Beside the products of the next wave, words take half of the products' time, since these keep
// memory busy, and their own.
double before_last(const LamportLinks& links, int members, int waves, double tile_us, double hops,
                   double wave) {
  if (members > 2)
    return (waves - 1) * std::max(tile_us, tile_us / 2 + wave / links.more_beside_rate);
  const double beside =
      std::max(tile_us, hops * links.wave + tile_us / 2 + wave / links.beside_rate);
  // Words that the last wave but one has left go beside the last one's products, half of it for
  // nothing.
  return (waves - 1.5) * beside + tile_us / 2;
}

OneKernelPlan with(const gemm::Plan& p, const OneKernelShape& s, const LamportLinks& links) {
  const int tiles = p.rows * p.columns, at_once = p.blocks / p.cluster;
  const double bytes = bytes_of_sum(s);
  // The words of the last wave are sent when all has been multiplied.
  const double last = bytes * (tiles - (p.waves - 1) * at_once) / tiles;
  const Sum sum = sum_of(s, links, tiles, last);
  double us = p.us;
  if (p.waves > 1) {
    const double tile_us = gemm::ceil_div(s.k, 64) * gemm::tile_at(p.tile).k_block_us;
    const double wave = sum.times * (bytes - last) / (p.waves - 1);
    us = std::max(
        us, kStart + tile_us + before_last(links, s.members, p.waves, tile_us, sum.hops, wave));
  }
  return {p, sum.reduction, us + sum.hops * links.hop + sum.times * last / links.behind_rate};
}

}  // namespace

OneKernelPlan one_kernel_plan(const OneKernelShape& s, const DeviceModel& device, int tile) {
  OneKernelPlan best;
  best.us = std::numeric_limits<double>::infinity();
  for (int i = kOneKernelTiles.first; i < kOneKernelTiles.end; ++i) {
    const gemm::Tile& shape = gemm::tile_at(i);
    if (!fits_one_kernel(shape, s.scatters) || (tile >= 0 && tile != i)) continue;
    const DeviceModel here = shape.sharing == 1 ? for_one_wave(shape, s, device) : device;
    const gemm::Plan gemm = gemm::plan(s.m, s.n, s.k, here, i, 1, kOneKernelTiles);
    if (here.clusters[static_cast<std::size_t>(gemm.cluster)] == 0) continue;
    const OneKernelPlan plan = with(gemm, s, device.links.lamport);
    if (plan.us < best.us) best = plan;
  }
  return best;
}

double other_strategies_us(const OneKernelShape& s, const DeviceModel& device) {
  const Shape each{s.members, gemm::ceil_div(s.m, s.members), s.n, s.k};
  if (s.scatters) return sequential_us(each, device);
  const CollectiveLinks& links = device.links.collectives;
  const double share = bytes_of_sum(s) * (s.members - 1) / s.members;
  const double sequential =
      gemm::plan(s.m, s.n, s.k, device).us + all_reduce_us(links, s.members, share);
  if (each.m < kLeastRows) return sequential;
  return std::min(sequential,
                  overlapped_plan(each, device).us + all_gather_us(links, s.members, share));
}

}  // namespace weft::kernels::gemm_rs
