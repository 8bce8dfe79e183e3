// The kernels of sm_90a that multiply few rows and add them up over the members, by shape and type,
// as the host sees them.
#pragma once

#include <weft/device/handle.hpp>
#include <weft/team.hpp>

#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_space.hpp"
#include "kernels/fused/gemm_reduce_scatter/scatter_kernels_sm90.hpp"
#include "kernels/gemm/kernel_entry_sm90.hpp"

namespace weft::kernels::sm90 {

// The members as one of them sees them: all that does not depend on the call.
struct OneKernelMembers {
  DeviceContext handle;
  Team team;
  gemm_rs::OneKernelSpace space;
  std::uint64_t* words[kMostMembers];  // space.words of member r
};

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
