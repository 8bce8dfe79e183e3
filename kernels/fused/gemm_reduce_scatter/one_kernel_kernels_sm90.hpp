// The kernels of sm_90a that multiply few rows and add them up over the members, by shape and type,
// as the host sees them.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <weft/device/handle.hpp>
#include <weft/kernels/types.hpp>
#include <weft/team.hpp>

#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_space.hpp"
#include "kernels/fused/gemm_reduce_scatter/scatter_kernels_sm90.hpp"

namespace weft::kernels::sm90 {

// The members as one of them sees them: all that does not depend on the call.
struct OneKernelMembers {
  DeviceContext handle;
  Team team;
  gemm_rs::OneKernelSpace space;
  std::uint64_t* words[kMostMembers];  // space.words of member r
};

struct OneKernelCall {
  CUtensorMap a, b;  // boxes as OneKernelEntry says
  OneKernelMembers members;
  void* c;  // my rows, or all
  long long stride;
  int m, n, k;
  int rows_a;  // of A's box
  gemm_rs::OneKernelPlan plan;
  cudaStream_t stream;
};

struct OneKernelEntry {
  cudaError_t (*prepare)();  // once before the first run(), on each GPU
  // How many clusters of `size` blocks run at a time; after prepare().
  cudaError_t (*clusters)(int size, int* count);
  cudaError_t (*run)(const OneKernelCall&);
  int box_b;                 // rows of B's box
  std::uint64_t tile_words;  // as a tile travels
};

// `tile`: of gemm_rs::kOneKernelTiles, one that fits_one_kernel().
const OneKernelEntry& one_kernel_entry(DType dtype, int tile);

}  // namespace weft::kernels::sm90
