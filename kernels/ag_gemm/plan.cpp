#include "kernels/ag_gemm/plan.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/core/gathering.hpp"
#include "kernels/gemm/tile_order.hpp"

namespace weft::kernels::ag_gemm {
namespace {

// Measured on two H100 (docs/design/fused.md), in us and bytes a us.
constexpr double kFork = 4.0;           // two kernels side by side instead of one
constexpr double kFirstPiece = 6.0;     // until rows come
constexpr double kBytesOfBlock = 27e3;  // that puts beside a product; alone 43e3
constexpr double kBytesOfLinks = 340e3;
constexpr double kNearly = 0.8;
constexpr double kGatherStart = 4.0;  // AllGather by itself
constexpr double kGatherBytes = 310e3;
constexpr unsigned kBlocks[] = {4, 6, 8, 12, 16, 20, 24};
constexpr int kLeastRows = 64;  // of each PE: a tile has no fewer

double bytes_of_others(const Shape& s) { return 2.0 * (s.pes - 1) * s.m * s.k; }

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

// The product takes a segment in bands, each of which needs all of its rows from the beginning.
double overlapped_us(const Shape& s, int multiprocessors, int tile, unsigned push_blocks) {
  const int left = multiprocessors - static_cast<int>(push_blocks);
  if (left < 2) return HUGE_VAL;
  if (tile >= 0 && !gemm::has_segments(gemm::kTiles[tile])) return HUGE_VAL;
  const gemm::Plan product = gemm::plan(s.m, s.n, s.k, machine_of(left), tile, s.pes);
  const int bands = gemm::ceil_div(product.rows, product.band) * (s.pes - 1);  // of others
  const double push = bytes_of_others(s) / std::min(push_blocks * kBytesOfBlock, kBytesOfLinks);
  const double own = product.us / s.pes, band = (product.us - own) / bands;
  const double least = std::max(band, product.us / product.turns);  // from its rows to its end
  double at = own;
  for (int i = 1; i <= bands; ++i) at = std::max(at + band, kFirstPiece + push * i / bands + least);
  return kFork + at;
}

namespace {

// Whether links are busy about as long as the product, or longer. Where all send to all, some wait
// for those that others have filled, and 370 GB/s become 250.
bool rows_take_longer(const Shape& s, int multiprocessors, int tile, const Plan& plan) {
  const int left = multiprocessors - static_cast<int>(plan.push_blocks);
  return kFirstPiece + bytes_of_others(s) / kBytesOfLinks >
         kNearly * gemm::plan(s.m, s.n, s.k, machine_of(left), tile, s.pes).us;
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
    return overlapped_us(shape, multiprocessors, tile, best.push_blocks) <
           sequential_us(shape, multiprocessors, tile);
  };
  for (int rows = largest.m;
       best.overlap_from > 1 && best.push_blocks != 0 && rows >= kLeastRows && pays(rows);
       rows /= 2)
    best.overlap_from = rows;
  if (best.overlap_from > largest.m) best.push_blocks = 0;
  const auto pieces = static_cast<unsigned>(gemm::ceil_div(largest.m, kGatherRows));
  best.goes_round = best.push_blocks != 0 && pieces >= best.push_blocks &&
                    rows_take_longer(largest, multiprocessors, tile, best);
  return best;
}

}  // namespace weft::kernels::ag_gemm
