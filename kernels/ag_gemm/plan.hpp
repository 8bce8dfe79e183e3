// Whether rows are gathered before the product or beside it: pure, so tested without a GPU.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/gemm/plan.hpp"

namespace weft::kernels::ag_gemm {

struct Shape {
  int pes;
  int m, n, k;  // m: rows of each
};

// The machine of a GPU of which so many multiprocessors are left.
gemm::Machine machine_of(int multiprocessors);

// us that are expected of each; `tile`: of gemm::kTiles, or -1. HUGE_VAL: it cannot be.
double sequential_us(const Shape& shape, int multiprocessors, int tile);
double overlapped_us(const Shape& shape, int multiprocessors, int tile, unsigned push_blocks);

struct Plan {
  unsigned push_blocks = 0;  // 0: never beside the product
  int overlap_from = 0;      // rows of each; with fewer one after the other
  int band = 0;              // rows of each whose parts come by turns: those of the product's bands
  bool goes_round = false;   // links are what takes time (push.hpp)
};
// `push_blocks`: 0 for what is expected to be best. `always`: beside the product wherever that can
// be.
Plan plan(const Shape& largest, int multiprocessors, int tile, unsigned push_blocks, bool always);

}  // namespace weft::kernels::ag_gemm
