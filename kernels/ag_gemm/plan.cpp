#include "kernels/ag_gemm/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/core/gathering.hpp"
#include "kernels/gemm/tile_order.hpp"

namespace weft::kernels::ag_gemm {
namespace {

// Measured on two and on four H100 (docs/design/fused.md), in us and bytes a us.
constexpr double kFork = 4.0;           // two kernels side by side instead of one
constexpr double kStart = 3.0;          // of a product, as gemm::plan has it
constexpr double kFirstPiece = 6.0;     // until rows come
constexpr double kBytesOfBlock = 22e3;  // that puts beside a product; whole rows 33e3
constexpr double kBytesOfLinks = 320e3;
constexpr double kNearly = 0.8;
constexpr double kWorth = 1.05;       // what is expected to be won by less is as likely lost
constexpr double kGatherStart = 4.0;  // AllGather by itself
constexpr double kGatherBytes = 310e3;
constexpr unsigned kBlocks[] = {4, 6, 8, 12, 16, 20, 24};
constexpr int kLeastRows = 64;  // of each PE: a tile has no fewer

double bytes_of_others(const Shape& s) { return 2.0 * (s.pes - 1) * s.m * s.k; }

int rows_of_band(const gemm::Plan& product) {
  const gemm::Tile& tile = gemm::tile_at(product.tile);
  return product.band * tile.m * tile.sharing;
}

// The product, on what the blocks that push leave.
gemm::Plan product_beside(const Shape& s, int multiprocessors, int tile, unsigned push_blocks) {
  const int left = multiprocessors - static_cast<int>(push_blocks);
  return gemm::plan(s.m, s.n, s.k, machine_of(left), tile, s.pes);
}

// When others' rows come.
class Arrivals {
 public:
  Arrivals(const Shape& s, int band, unsigned push_blocks)
      : s_(s), band_(band), bytes_per_us_(std::min(push_blocks * kBytesOfBlock, kBytesOfLinks)) {}

  // A part of rows up to `end` of the segment that is used so many behind mine.
  double us(int segment, int end, int part) const {
    const int top = (end - 1) / band_ * band_, height = std::min(band_, s_.m - top);
    const int columns = gather_part_blocks(s_.k) * kGatherColumns;
    const double before = 1.0 * ((segment - 1) * s_.m + top) * s_.k;
    const double of_band = 1.0 * height * part * columns + 1.0 * (end - top) * columns;
    return kFirstPiece + std::min(2 * (before + of_band), bytes_of_others(s_)) / bytes_per_us_;
  }

 private:
  const Shape s_;
  const int band_;
  const double bytes_per_us_;
};

}  // namespace

gemm::Machine machine_of(int multiprocessors) {
  gemm::Machine machine;
  machine.multiprocessors = multiprocessors;
  for (int size = 1; size <= gemm::kMostSplits; ++size)
    machine.clusters[size] = std::min(machine.clusters[size], multiprocessors / size);
  return machine;
}

double sequential_us(const Shape& s, int multiprocessors, int tile) {
  return kGatherStart + bytes_of_others(s) / kGatherBytes +
         gemm::plan(s.pes * s.m, s.n, s.k, machine_of(multiprocessors), tile).us;
}

// Tile by tile, as clusters take them: each when its cluster is done with the one before and the
// first part of its rows has come, and no sooner at its end than the last part can be multiplied.
double overlapped_us(const Shape& s, int multiprocessors, int tile, unsigned push_blocks) {
  if (multiprocessors < static_cast<int>(push_blocks) + 2) return HUGE_VAL;
  if (tile >= 0 && !gemm::has_segments(gemm::kTiles[tile])) return HUGE_VAL;
  const gemm::Plan product = product_beside(s, multiprocessors, tile, push_blocks);
  const gemm::Tile& shape = gemm::tile_at(product.tile);
  const int parts = gather_parts(s.k), height = shape.m * shape.sharing;
  const Arrivals arrivals(s, rows_of_band(product), push_blocks);
  const gemm::BandedOrder<true> order{
      s.pes, 0, product.rows, product.columns, product.band, shape.m, shape.n, shape.sharing, 1};
  const double us_of_tile = (product.us - kStart) / product.turns;
  std::vector<double> ends(static_cast<std::size_t>(product.blocks / product.cluster), 0.0);
  gemm::Work work{};
  for (int i = 0; order.work(i, 0, &work); ++i) {
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

// Whether links are busy about as long as the product, or longer. Where all send to all, some wait
// for those that others have filled, and 370 GB/s become 250.
bool rows_take_longer(const Shape& s, const gemm::Plan& product) {
  return kFirstPiece + bytes_of_others(s) / kBytesOfLinks > kNearly * product.us;
}

}  // namespace

Plan plan(const Shape& largest, int multiprocessors, int tile, unsigned push_blocks, bool always) {
  Plan best;
  double us = HUGE_VAL;
  for (const unsigned blocks : kBlocks) {
    const unsigned some = push_blocks != 0 ? (push_blocks + 1) / 2 * 2 : blocks;  // pairs
    const double with = overlapped_us(largest, multiprocessors, tile, some);
    if (with >= us) continue;
    us = with;
    best.push_blocks = some;
  }
  best.overlap_from = largest.m + 1;
  if (always && best.push_blocks != 0) best.overlap_from = 1;
  const auto pays = [&](int rows) {
    const Shape shape{largest.pes, rows, largest.n, largest.k};
    return kWorth * overlapped_us(shape, multiprocessors, tile, best.push_blocks) <
           sequential_us(shape, multiprocessors, tile);
  };
  for (int rows = largest.m;
       best.overlap_from > 1 && best.push_blocks != 0 && rows >= kLeastRows && pays(rows);
       rows /= 2)
    best.overlap_from = rows;
  if (best.overlap_from > largest.m) best.push_blocks = 0;
  if (best.push_blocks == 0) return best;
  const gemm::Plan product = product_beside(largest, multiprocessors, tile, best.push_blocks);
  best.band = rows_of_band(product);
  const int pieces = gemm::ceil_div(largest.m, kGatherRows) * gather_parts(largest.k);
  best.goes_round =
      pieces >= static_cast<int>(best.push_blocks) && rows_take_longer(largest, product);
  return best;
}

}  // namespace weft::kernels::ag_gemm
