// Whether few rows go directly, and how: pure, so tested without a GPU.
#pragma once

#include "kernels/gemm/plan.hpp"

namespace weft::kernels::gemm_rs {

struct DirectShape {
  int members, m, n, k;
};

struct DirectPlan {
  gemm::Plan product;
  bool two_shots = false;
  double us = 0;  // expected; infinite: there is no way
};

// All tiles run at once, since they wait for their twins: one turn. `tile`: of gemm::kTiles, one
// that splits k, or -1.
DirectPlan direct_plan(const DirectShape& shape, const gemm::Machine& machine, int tile = -1);
// us of the product and an AllReduce behind it.
double sequential_us(const DirectShape& shape, const gemm::Machine& machine);

// In two shots every member owns a tile.
constexpr bool takes_two_shots(int tiles, int members) { return members > 2 && tiles >= members; }

}  // namespace weft::kernels::gemm_rs
