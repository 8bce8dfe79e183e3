// Whether calls go directly, and how: pure, so tested without a GPU.
#pragma once

#include <cstdint>

#include "kernels/gemm/plan.hpp"
#include "kernels/gemm_rs/direct_space.hpp"

namespace weft::kernels::gemm_rs {

struct DirectShape {
  int members, m, n, k;   // m: all rows
  bool scatters = false;  // rows of the sum to their owners; else all of it to all
};

struct DirectPlan {
  gemm::Plan product;
  Way way = Way::kOneShot;
  double us = 0;  // expected; infinite: there is no way
};

// Tiles whose kernels send and add up words: of few rows those that split k and Gemm's for few
// rows, in one turn, since all wait for their twins; of more, where all get the sum, those that two
// blocks share, in any number of turns, as far as a thread's registers go.
constexpr bool goes_directly(const gemm::Tile& tile, bool scatters = false) {
  if (tile.splits || tile.depth == 2) return true;
  return !scatters && tile.m == 128 && tile.sharing == 2 && (tile.n <= 96 || tile.n == 160);
}

// Slices of 64 along k that its kernels multiply at a time.
constexpr int depth_of(const gemm::Tile& tile) {
  return tile.splits && tile.m == 64 ? 2 : tile.depth;
}

// Of which they are.
inline constexpr gemm::TileRange kDirectTiles = gemm::kOfTwoBytes;

// `tile`: of kDirectTiles, or -1 for what is expected to be fastest.
DirectPlan direct_plan(const DirectShape& shape, const gemm::Machine& machine, int tile = -1);
// Elements of a sum that goes to all, unless asked: with more members than two, turns before the
// last take longer than the product and AllReduce.
constexpr std::int64_t most_elements(int members) {
  return std::int64_t{members > 2 ? 3 : 8} << 20;
}
// Of more rows than one tile has: those of the last tile that are not there cost more than others.
// Where that has been measured, with more members than two, only whole tiles pay.
inline constexpr std::int64_t kTileRows = 128;
constexpr bool are_whole_tiles(std::int64_t rows) {
  return rows <= kTileRows || rows % kTileRows == 0;
}
// us of the best other way: the product and a collective behind it, or GemmRs and AllGather.
double indirect_us(const DirectShape& shape, const gemm::Machine& machine);

constexpr const char* to_string(Way way) {
  return way == Way::kOneShot    ? "one shot"
         : way == Way::kTwoShots ? "two shots"
                                 : "rows to their owners";
}

// Of fewer tiles some members would own none.
constexpr bool takes_two_shots(int tiles, int members) { return members > 2 && tiles >= members; }

}  // namespace weft::kernels::gemm_rs
