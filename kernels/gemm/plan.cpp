#include "kernels/gemm/plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace weft::kernels::gemm {
namespace {

// Measured on an H100 (docs/measurements/2026-11-26-gemm.md), in us.
constexpr double kStart = 3.0;         // a kernel that does next to nothing
constexpr double kWave = 1.5;          // from the last wgmma of a tile to the first of the next
constexpr double kClusterSum = 2.5;    // adding up what the blocks of a cluster have
constexpr double kByThreads = 0.5;     // C by threads instead of copies, where a block is a cluster
constexpr double kBytesPerUs = 3.0e6;  // from memory
constexpr int kGroups = 4;             // of segments, at least where they have as many rows
// On an H200: a start before the kernel before is over hides so much; but blocks then go where
// there is room, not evenly, which costs such a part of the time from memory, were all left over.
constexpr double kEarly = 0.9, kUneven = 0.75;
constexpr double kTooLarge = 1e12;  // for a cluster of more blocks than it may take

double from_memory(double m, double n, double k) {
  return 2 * (m * k + n * k + m * n) / kBytesPerUs;
}

// Raster groups so high that the tiles of a wave cover a patch of C nearly as high as wide, and all
// alike.
int group_rows_of(const Tile& tile, int rows, int num_sms) {
  const double high = std::sqrt(static_cast<double>(num_sms) * tile.n / tile.m) / tile.sharing;
  const int groups = std::max(1, static_cast<int>(std::lround(rows / high)));
  return ceil_div(rows, groups);
}

Plan with(int index, int splits, int segments, int m, int n, int k, const DeviceModel& device) {
  const Tile& tile = tile_at(index);
  const int k_blocks = ceil_div(k, 64);
  Plan p;
  p.tile = index;
  p.cluster = tile.splits ? splits : tile.sharing;
  p.segments = segments;
  p.rows = ceil_div(m, tile.m * tile.sharing);
  p.columns = ceil_div(n, tile.n);
  p.group_rows = group_rows_of(tile, p.rows, device.num_sms);
  // A raster group waits for rows that are on their way: so there are several.
  if (segments > 1)
    p.group_rows = std::min(p.group_rows, ceil_div(p.rows, std::max(1, kGroups / segments)));
  const long long work = 1ll * segments * p.rows * p.columns;     // of clusters
  const int at_a_time = std::max(1, device.clusters[p.cluster]);  // if need be, one after the other
  p.waves = static_cast<int>((work + at_a_time - 1) / at_a_time);
  // Split tiles have a cluster each; others go round.
  const long long clusters = tile.splits ? work : std::min<long long>(work, at_a_time);
  p.blocks = static_cast<int>(clusters * p.cluster);
  const double of_block = tile.splits ? ceil_div(k_blocks, splits) : k_blocks;
  const double multiply_us =
      p.waves * (of_block * tile.k_block_us + kWave) + (splits > 1 ? kClusterSum : 0);
  // Among plans that wait for memory alike, the one with fewer products to do is taken.
  const double memory = from_memory(1.0 * segments * m, n, k);
  p.us = kStart + std::max(multiply_us, memory) + 0.01 * multiply_us;
  const double left_over = 1 - 1.0 * p.blocks / device.num_sms;
  p.starts_early = kUneven * left_over * memory < kEarly;
  if (tile.splits && splits == 1) p.us += kByThreads;
  if (device.clusters[p.cluster] == 0) p.us += kTooLarge;
  return p;
}

}  // namespace

std::string name_of(const Tile& tile) {
  return fmt::format("{}x{}{}", tile.m, tile.n, tile.splits ? "/k" : "");
}

Plan plan(int m, int n, int k, const DeviceModel& device, int tile, int segments, TileRange tiles) {
  Plan best;
  best.us = HUGE_VAL;
  for (int i = tiles.first; i < tiles.end; ++i) {
    if (tile >= 0 && i != tile) continue;
    const Tile& shape = tile_at(i);
    if (segments > 1 && (tile < 0 ? !has_segments(shape) : shape.splits)) continue;
    const int most = shape.splits ? std::min(kMostSplits, ceil_div(k, 64)) : 1;
    for (int splits = 1; splits <= most; ++splits) {
      const Plan p = with(i, splits, segments, m, n, k, device);
      if (p.us < best.us) best = p;
    }
  }
  return best;
}

Result<int> tile_named(const char* who, const std::string& name, TileRange tiles) {
  if (name.empty()) return -1;
  std::string all;
  for (int i = tiles.first; i < tiles.end; ++i) {
    if (name == name_of(tile_at(i))) return i;
    all += (i == tiles.first ? "" : ", ") + name_of(tile_at(i));
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{}: options.tile is \"{}\"; there are {}, or \"\" for the "
                                   "plan's",
                                   who, name, all));
}

std::string describe(const Plan& plan) {
  const Tile& tile = tile_at(plan.tile);
  return fmt::format(
      "tile {}, {} stages, {}; {} x {} tiles in groups of {}, {} blocks, {} wave{}, {:.0f} us "
      "expected",
      name_of(tile), tile.stages,
      tile.splits
          ? fmt::format("k split by {}", plan.cluster)
          : fmt::format("{} block{} to a cluster", plan.cluster, plan.cluster > 1 ? "s" : ""),
      plan.segments * plan.rows * tile.sharing, plan.columns, plan.group_rows * tile.sharing,
      plan.blocks, plan.waves, plan.waves == 1 ? "" : "s", plan.us);
}

}  // namespace weft::kernels::gemm
