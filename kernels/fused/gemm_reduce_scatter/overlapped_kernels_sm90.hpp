// The kernels of sm_90a that send and add up, by shape and type, as the host sees them.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/members.hpp"
#include "kernels/fused/gemm_reduce_scatter/plan.hpp"
#include "kernels/gemm/kernel_entry_sm90.hpp"

namespace weft::kernels::sm90 {

using gemm_rs::kMostMembers;
using gemm_rs::Members;

struct ScatterCall {
  Operands operands;  // a: members * m rows in one
  CUtensorMap c;      // box as the entry says; my rows
  Members members;
  int k;
  gemm_rs::Plan plan;
  cudaStream_t stream;
};

inline constexpr std::uint64_t kTileFlags = 2;  // of a tile that travels: one for each consumer

// `tile`: of gemm::kTiles, one that scatters; `travels`: bytes.
const KernelEntry<ScatterCall>& scatter_entry(DType dtype, int tile);

}  // namespace weft::kernels::sm90
