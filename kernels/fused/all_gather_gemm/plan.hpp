// Whether rows are gathered before the GEMM or beside it: pure, so tested without a GPU.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/gemm/plan.hpp"

namespace weft::kernels::ag_gemm {

struct Shape {
  int pes;
  int m, n, k;  // m: rows of each
};

// The device model of a GPU of which so many SMs are left.
DeviceModel with_sms(DeviceModel device, int num_sms);

// us that are expected of each; `tile`: of gemm::kTiles, or -1. HUGE_VAL: it cannot be.
double sequential_us(const Shape& shape, const DeviceModel& device, int tile);
double overlapped_us(const Shape& shape, const DeviceModel& device, int tile, unsigned push_blocks);

struct Plan {
  unsigned push_blocks = 0;  // 0: never beside the GEMM
  int overlap_from = 0;      // rows of each; with fewer one after the other
  int group_rows = 0;    // rows of each whose parts alternate: those of the GEMM's raster groups
  bool is_ring = false;  // links are what takes time (push.hpp)
};
// `push_blocks`: 0 for what is expected to be best. `always`: beside the GEMM wherever that can
// be.
Plan plan(const Shape& largest, const DeviceModel& device, int tile, unsigned push_blocks,
          bool always);

}  // namespace weft::kernels::ag_gemm
