// Which tile a problem gets, and how its tiles go round the GPU: pure, so tested without one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <weft/result.hpp>

#include "kernels/core/device_model.hpp"
#include "kernels/gemm/tile_scheduler.hpp"

namespace weft::kernels::gemm {

// A shape of the kernel of sm_90a. Two blocks of a cluster share B where `sharing` is 2.
struct Tile {
  int m, n;    // of C, for a block
  int stages;  // k-blocks of 64 along k in shared memory
  int sharing;
  bool splits;        // blocks of a cluster split k instead, and add up in the end
  double k_block_us;  // us for 64 along k: measured where tiles filled an H100 in a few waves
  int depth = 1;      // k-blocks of a stage
};

// Each is compiled for both types (tiles/, one file a shape).
inline constexpr std::array<Tile, 17> kTiles{{
    {64, 64, 12, 1, false, 0.15},
    {128, 64, 8, 1, false, 0.18},
    {128, 80, 8, 2, false, 0.25},
    {128, 96, 7, 2, false, 0.26},
    {128, 112, 6, 2, false, 0.31},
    {128, 128, 6, 2, false, 0.36},
    {128, 160, 5, 2, false, 0.41},
    {128, 192, 4, 2, false, 0.47},
    {128, 208, 4, 2, false, 0.523},
    {128, 224, 4, 2, false, 0.545},
    {128, 256, 4, 2, false, 0.615},
    {256, 160, 4, 2, false, 0.815},
    {256, 176, 4, 2, false, 0.905},
    {64, 64, 12, 1, true, 0.15},
    {128, 64, 8, 1, true, 0.18},
    {64, 48, 15, 1, true, 0.14},
    {128, 48, 10, 1, true, 0.17},
}};

// The same for few rows; measured on an H200. Their columns are as many as share a weight out among
// all SMs: of 4096, 5120, 6144 and 7168 each gets 32, 40, 48 and 56. They are for Gemm, and for
// GemmRs and GemmAr in one kernel; their numbers are behind those of kTiles.
inline constexpr std::array<Tile, 6> kFewRowTiles{{
    {64, 32, 9, 1, false, 0.09, 2},
    {64, 40, 8, 1, false, 0.09, 2},
    {64, 48, 7, 1, false, 0.105, 2},
    {64, 56, 7, 1, false, 0.105, 2},
    {128, 32, 5, 1, false, 0.12, 2},
    {128, 40, 5, 1, false, 0.14, 2},
}};

// The same for e4m3, of which a k-block is 128 along k: 64 pairs; measured on an H200. Their
// numbers are behind those of kFewRowTiles.
inline constexpr std::array<Tile, 8> kE4m3Tiles{{
    {64, 64, 8, 1, false, 0.18},
    {128, 64, 8, 1, false, 0.22},
    {128, 128, 6, 1, false, 0.42},
    {128, 192, 4, 2, false, 0.565},
    {192, 128, 4, 2, false, 0.545},
    {64, 64, 8, 1, true, 0.18},
    {128, 64, 8, 1, true, 0.24},
    {64, 56, 9, 1, false, 0.175},
}};

inline constexpr int kFirstFewRows = static_cast<int>(kTiles.size());
inline constexpr int kFirstE4m3 = kFirstFewRows + static_cast<int>(kFewRowTiles.size());
inline constexpr int kAllTiles = kFirstE4m3 + static_cast<int>(kE4m3Tiles.size());
constexpr const Tile& tile_at(int number) {
  if (number < kFirstFewRows) return kTiles[static_cast<std::size_t>(number)];
  if (number < kFirstE4m3) return kFewRowTiles[static_cast<std::size_t>(number - kFirstFewRows)];
  return kE4m3Tiles[static_cast<std::size_t>(number - kFirstE4m3)];
}

// Numbers of tiles from first until end: of kTiles, which all operators have; Gemm's of two bytes;
// and of e4m3.
struct TileRange {
  int first = 0, end = kFirstFewRows;
};
inline constexpr TileRange kOfTwoBytes{0, kFirstE4m3};
inline constexpr TileRange kOfE4m3{kFirstE4m3, kAllTiles};

constexpr int tile_of(int m, int n, bool splits = false, TileRange tiles = kOfTwoBytes) {
  for (int i = tiles.first; i < tiles.end; ++i) {
    const Tile& tile = tile_at(i);
    if (tile.m == m && tile.n == n && tile.splits == splits) return i;
  }
  return -1;
}
// Whether its kernel knows of segments of C (tile_scheduler.hpp).
constexpr bool has_segments(const Tile& tile) {
  return !tile.splits && has_segments(tile.m, tile.n);
}
std::string name_of(const Tile& tile);  // "128x256", "64x64/k"

// The tile of that name, -1 for ""; kInvalidArgument: there is none.
Result<int> tile_named(const char* who, const std::string& name, TileRange tiles = {});

struct Plan {
  int tile = 0;     // its number
  int cluster = 1;  // blocks
  int segments = 1;
  // The rows and columns of a segment's tiles; a row is as high as the tiles of a cluster that
  // share B.
  int rows = 0, columns = 0;
  int group_rows = 1;         // rows of tiles that are gone through together, column by column
  int blocks = 0;             // of the grid
  int waves = 0;              // tiles of a block, at most
  bool starts_early = false;  // before the kernel before it is over
  double us = 0;              // expected
};

// m, n, k > 0; k in elements of two bytes, or in pairs of e4m3. `tile`: a number, or -1 for the one
// of `tiles` that is expected to be fastest. C has `segments` times m rows (tile_scheduler.hpp);
// with more than one, no tile splits k, and unless `tile` says so, none is taken whose kernel
// gathers no segments.
Plan plan(int m, int n, int k, const DeviceModel& device, int tile = -1, int segments = 1,
          TileRange tiles = {});
std::string describe(const Plan& plan);

}  // namespace weft::kernels::gemm
