// Which tile a problem gets from the kernels of sm_80 (kernel_sm80.hpp), and how its tiles go round
// the GPU: pure, so tested without one.
#pragma once

#include <array>
#include <string>

#include <weft/result.hpp>

#include "kernels/gemm/tile_scheduler.hpp"

namespace weft::kernels::sm80 {

// A block's tile of C, and what its ring in shared memory holds: 48 KiB, so that two blocks fit on
// an SM of sm_89, which has 100.
struct Tile {
  int m, n;
  int k_block;  // elements along k of a stage
  int stages;   // of the ring
  // The cost of an element of the tile, beside one of the largest tile: small tiles need more bytes
  // of shared memory than an SM moves (docs/design/gemm-sm80.md).
  double cost;
};
inline constexpr std::array<Tile, 2> kTiles{{{128, 128, 32, 3, 1.0}, {64, 64, 64, 3, 1.5}}};
inline constexpr int kTileCount = static_cast<int>(kTiles.size());

std::string name_of(const Tile& tile);  // "sm80/128x128"
// The tile of that name, -1 for ""; kInvalidArgument: there is none.
Result<int> tile_named(const std::string& name);
// Whether the name is one of these tiles', or meant to be.
bool is_name(const std::string& name);

// The facts of a GPU that a plan has to know.
struct DeviceModel {
  int num_sms = 108;
  std::array<int, kTileCount> blocks{216, 324};  // of each tile that run at a time
};

struct Plan {
  int tile = 0;               // of kTiles
  int rows = 0, columns = 0;  // of tiles
  int group_rows = 1;         // rows of tiles that are gone through together, column by column
  int blocks = 0;             // of the grid
  int waves = 0;              // tiles of a block, at most
};

// m, n > 0. `tile`: of kTiles, or -1 for the one that is expected to be fastest.
Plan plan(int m, int n, const DeviceModel& device, int tile = -1);
std::string describe(const Plan& plan);

}  // namespace weft::kernels::sm80
