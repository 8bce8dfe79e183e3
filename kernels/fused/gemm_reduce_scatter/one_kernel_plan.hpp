// Whether calls go in one kernel, and how: pure, so tested without a GPU.
#pragma once

#include <cstdint>

#include "kernels/fused/gemm_reduce_scatter/one_kernel_space.hpp"
#include "kernels/gemm/plan.hpp"

namespace weft::kernels::gemm_rs {

struct OneKernelShape {
  int members, m, n, k;   // m: all rows
  bool scatters = false;  // rows of the sum to their owners; else all of it to all
};

struct OneKernelPlan {
  gemm::Plan gemm;
  Reduction reduction = Reduction::kOneShot;
  double us = 0;  // expected; infinite: there is no way
};

// Tiles whose kernels send and add up words: of few rows those that split k and Gemm's for few
// rows, in one wave, since all wait for their peer blocks; of more, where all get the sum, those
// that two blocks share, in any number of waves, as far as a thread's registers go.
constexpr bool fits_one_kernel(const gemm::Tile& tile, bool scatters = false) {
  if (tile.splits || tile.depth == 2) return true;
  return !scatters && tile.m == 128 && tile.sharing == 2 && (tile.n <= 96 || tile.n == 160);
}

// K-blocks of 64 along k that its kernels multiply at a time.
constexpr int depth_of(const gemm::Tile& tile) {
  return tile.splits && tile.m == 64 ? 2 : tile.depth;
}

// The range that these tiles are in.
inline constexpr gemm::TileRange kOneKernelTiles = gemm::kOfTwoBytes;

// `tile`: of kOneKernelTiles, or -1 for what is expected to be fastest.
OneKernelPlan one_kernel_plan(const OneKernelShape& shape, const DeviceModel& device,
                              int tile = -1);
// Elements of a sum that goes to all, unless asked: with more members than two, waves before the
// last take longer than the GEMM and AllReduce.
constexpr std::int64_t most_elements(int members) {
  return std::int64_t{members > 2 ? 3 : 8} << 20;
}
// With more rows than one tile has, rows of the last tile that are not there cost more than others.
// Where that has been measured, with more members than two, only whole tiles pay.
inline constexpr std::int64_t kTileRows = 128;
constexpr bool are_whole_tiles(std::int64_t rows) {
  return rows <= kTileRows || rows % kTileRows == 0;
}
// us of the best other way: the GEMM and a collective behind it, or GemmRs and AllGather.
double other_strategies_us(const OneKernelShape& shape, const DeviceModel& device);

constexpr const char* to_string(Reduction reduction) {
  return reduction == Reduction::kOneShot   ? "one shot"
         : reduction == Reduction::kTwoShot ? "two shots"
                                            : "rows to their owners";
}

// With fewer tiles some members would own none.
constexpr bool takes_two_shots(int tiles, int members) { return members > 2 && tiles >= members; }

}  // namespace weft::kernels::gemm_rs
