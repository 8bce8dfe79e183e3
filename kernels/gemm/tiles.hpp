// The tiles of the kernel of sm_90a (tiles.def.hpp) by number, and by their key: rows, columns and
// whether they split k.
#pragma once

#include <array>
#include <string>

#include <weft/result.hpp>

#include "kernels/gemm/tile_scheduler.hpp"

namespace weft::kernels::gemm {

// A shape of the kernel of sm_90a. Two blocks of a cluster share B where `sharing` is 2.
struct Tile {
  int m, n;    // of C, for a block
  int stages;  // k-blocks of 64 along k in shared memory
  int sharing;
  bool splits;        // blocks of a cluster split k instead, and add up in the end
  double k_block_us;  // us for 64 along k
  int depth = 1;      // k-blocks of a stage
};

inline constexpr std::array kTiles{
#define WEFT_TILE(...) Tile{__VA_ARGS__},
#include "kernels/gemm/tiles.def.hpp"
};
// Their numbers are behind those of kTiles.
inline constexpr std::array kFewRowTiles{
#define WEFT_FEW_ROWS_TILE(...) Tile{__VA_ARGS__, 2},
#include "kernels/gemm/tiles.def.hpp"
};
// Their numbers are behind those of kFewRowTiles.
inline constexpr std::array kE4m3Tiles{
#define WEFT_E4M3_TILE(...) Tile{__VA_ARGS__},
#include "kernels/gemm/tiles.def.hpp"
};

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

}  // namespace weft::kernels::gemm
