// Whether few rows go directly, and how: pure, so tested without a GPU.
#pragma once

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

// All tiles run at once, since they wait for their twins: one turn. `tile`: of gemm::kTiles, one
// that splits k, or -1.
DirectPlan direct_plan(const DirectShape& shape, const gemm::Machine& machine, int tile = -1);
// us of the product and a collective behind it.
double sequential_us(const DirectShape& shape, const gemm::Machine& machine);

constexpr const char* to_string(Way way) {
  return way == Way::kOneShot    ? "one shot"
         : way == Way::kTwoShots ? "two shots"
                                 : "rows to their owners";
}

// Of fewer tiles some members would own none.
constexpr bool takes_two_shots(int tiles, int members) { return members > 2 && tiles >= members; }

}  // namespace weft::kernels::gemm_rs
