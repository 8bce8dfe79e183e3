#include "kernels/fused/all_gather_gemm/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/gemm/tile_scheduler.hpp"
#include "kernels/protocol/all_gather_buffer.hpp"

namespace weft::kernels::ag_gemm {
namespace {

// Measured on two and on four H100 (docs/measurements/2026-11-26-allgather-gemm.md), in us.
constexpr double kFork = 4.0;   // two kernels side by side instead of one
constexpr double kStart = 3.0;  // of a GEMM, as gemm::plan has it
constexpr double kNearly = 0.8;
constexpr double kWorth = 1.05;  // what is expected to be won by less is as likely lost
constexpr unsigned kBlocks[] = {4, 6, 8, 12, 16, 20, 24};
constexpr int kLeastRows = 64;  // of each PE: a tile has no fewer

double bytes_of_others(const Shape& s) { return 2.0 * (s.pes - 1) * s.m * s.k; }

int rows_of_group(const gemm::Plan& gemm) {
  const gemm::Tile& tile = gemm::tile_at(gemm.tile);
  return gemm.group_rows * tile.m * tile.sharing;
}

// The GEMM, on what the blocks that push leave.
gemm::Plan gemm_beside(const Shape& s, const DeviceModel& device, int tile, unsigned push_blocks) {
  const int left = device.num_sms - static_cast<int>(push_blocks);
  return gemm::plan(s.m, s.n, s.k, with_sms(device, left), tile, s.pes);
}

// When others' rows come.
class Arrivals {
 public:
  Arrivals(const Shape& s, const PushLinks& links, int group_rows, unsigned push_blocks)
      : s_(s),
        first_piece_(links.first_piece),
        group_rows_(group_rows),
        bytes_per_us_(std::min(push_blocks * links.block_rate, links.rate)) {}

  // A part of rows up to `end` of the segment that is used so many behind mine.
  double us(int segment, int end, int part) const {
    const int top = (end - 1) / group_rows_ * group_rows_,
              height = std::min(group_rows_, s_.m - top);
    const int columns = gather_part_blocks(s_.k) * kGatherColumns;
    const double before = 1.0 * ((segment - 1) * s_.m + top) * s_.k;
    const double of_group = 1.0 * height * part * columns + 1.0 * (end - top) * columns;
    return first_piece_ + std::min(2 * (before + of_group), bytes_of_others(s_)) / bytes_per_us_;
  }

 private:
  const Shape s_;
  const double first_piece_;
  const int group_rows_;
  const double bytes_per_us_;
};

}  // namespace

DeviceModel with_sms(DeviceModel device, int num_sms) {
  device.num_sms = num_sms;
  for (int size = 1; size <= kMostSplits; ++size)
    device.clusters[size] = std::min(device.clusters[size], num_sms / size);
  return device;
}

double sequential_us(const Shape& s, const DeviceModel& device, int tile) {
  return device.links.push.all_gather.us(bytes_of_others(s)) +
         gemm::plan(s.pes * s.m, s.n, s.k, device, tile).us;
}

// Tile by tile, as clusters take them: each when its cluster is done with the one before and the
// first part of its rows has come, and no sooner at its end than the last part can be multiplied.
double overlapped_us(const Shape& s, const DeviceModel& device, int tile, unsigned push_blocks) {
  if (device.num_sms < static_cast<int>(push_blocks) + 2) return HUGE_VAL;
  if (tile >= 0 && !gemm::has_segments(gemm::kTiles[tile])) return HUGE_VAL;
  const gemm::Plan gemm = gemm_beside(s, device, tile, push_blocks);
  const gemm::Tile& shape = gemm::tile_at(gemm.tile);
  const int parts = gather_parts(s.k), height = shape.m * shape.sharing;
  const Arrivals arrivals(s, device.links.push, rows_of_group(gemm), push_blocks);
  const gemm::TileScheduler<true> scheduler{
      s.pes, 0, gemm.rows, gemm.columns, gemm.group_rows, shape.m, shape.n, shape.sharing, 1};
  const double us_of_tile = (gemm.us - kStart) / gemm.waves;
  std::vector<double> ends(static_cast<std::size_t>(gemm.blocks / gemm.cluster), 0.0);
  gemm::Work work{};
  for (int i = 0; scheduler.work(i, 0, &work); ++i) {
    double& at = ends[static_cast<std::size_t>(i) % ends.size()];
    const int end = std::min(s.m, work.row + height);
    if (work.segment > 0) at = std::max(at, arrivals.us(work.segment, end, 0));
    at += us_of_tile;
    if (work.segment > 0)
      at = std::max(at, arrivals.us(work.segment, end, parts - 1) + us_of_tile / parts);
  }
  return kFork + kStart + *std::max_element(ends.begin(), ends.end());
}

namespace {

// Whether links are busy about as long as the GEMM, or longer. Where all send to all, some wait
// for those that others have filled, and 370 GB/s become 250.
bool rows_take_longer(const Shape& s, const PushLinks& links, const gemm::Plan& gemm) {
  return links.first_piece + bytes_of_others(s) / links.rate > kNearly * gemm.us;
}

}  // namespace

Plan plan(const Shape& largest, const DeviceModel& device, int tile, unsigned push_blocks,
          bool always) {
  Plan best;
  double us = HUGE_VAL;
  for (const unsigned blocks : kBlocks) {
    const unsigned some = push_blocks != 0 ? (push_blocks + 1) / 2 * 2 : blocks;  // pairs
    const double with = overlapped_us(largest, device, tile, some);
    if (with >= us) continue;
    us = with;
    best.push_blocks = some;
  }
  best.overlap_from = largest.m + 1;
  if (always && best.push_blocks != 0) best.overlap_from = 1;
  const auto pays = [&](int rows) {
    const Shape shape{largest.pes, rows, largest.n, largest.k};
    return kWorth * overlapped_us(shape, device, tile, best.push_blocks) <
           sequential_us(shape, device, tile);
  };
  for (int rows = largest.m;
       best.overlap_from > 1 && best.push_blocks != 0 && rows >= kLeastRows && pays(rows);
       rows /= 2)
    best.overlap_from = rows;
  if (best.overlap_from > largest.m) best.push_blocks = 0;
  if (best.push_blocks == 0) return best;
  const gemm::Plan gemm = gemm_beside(largest, device, tile, best.push_blocks);
  best.group_rows = rows_of_group(gemm);
  const int pieces = gemm::ceil_div(largest.m, kGatherRows) * gather_parts(largest.k);
  best.is_ring = pieces >= static_cast<int>(best.push_blocks) &&
                 rows_take_longer(largest, device.links.push, gemm);
  return best;
}

}  // namespace weft::kernels::ag_gemm
