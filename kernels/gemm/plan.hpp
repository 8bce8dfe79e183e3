// Which tile a problem gets, and how its tiles go round the GPU: pure, so tested without one.
#pragma once

#include <string>

#include "kernels/core/device_model.hpp"
#include "kernels/gemm/tiles.hpp"

namespace weft::kernels::gemm {

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
