// The kernels of sm_90a that multiply few rows and add them up over the members, by shape and type,
// as the host sees them.
#pragma once

#include "kernels/fused/gemm_reduce_scatter/members.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"
#include "kernels/gemm/kernel_entry_sm90.hpp"

namespace weft::kernels::sm90 {

using gemm_rs::kMostMembers;
using gemm_rs::OneKernelMembers;

struct OneKernelCall {
  Operands operands;
  OneKernelMembers members;
  void* c;  // my rows, or all
  long long stride;
  int m, n, k;
  gemm_rs::OneKernelPlan plan;
  cudaStream_t stream;
};

// `tile`: of gemm_rs::kOneKernelTiles, one that fits_one_kernel(); `travels`: words.
const KernelEntry<OneKernelCall>& one_kernel_entry(DType dtype, int tile);

}  // namespace weft::kernels::sm90
