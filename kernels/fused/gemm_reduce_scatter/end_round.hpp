// On host threads, behind a GEMM: what only one thread may do, when all blocks have ended.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/space.hpp"

namespace weft::kernels::gemm_rs {

struct EndRound {
  Record* record;
  void operator()() const { ++record->round; }
};

}  // namespace weft::kernels::gemm_rs
