// The kernels of sm_90a that multiply few rows and add them up over the members, by shape and type,
// as the host sees them.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <weft/device/handle.hpp>
#include <weft/kernels/types.hpp>
#include <weft/team.hpp>

#include "kernels/gemm_rs/direct_plan.hpp"
#include "kernels/gemm_rs/direct_space.hpp"
#include "kernels/gemm_rs/scatter_kernels_sm90.hpp"

namespace weft::kernels::sm90 {

// The members as one of them sees them: all that does not depend on the call.
struct DirectMembers {
  DeviceContext handle;
  Team team;
  gemm_rs::DirectSpace space;
  std::uint64_t* words[kMostMembers];  // space.words of member r
};

struct DirectCall {
  CUtensorMap a, b;  // boxes as DirectKernel says
  DirectMembers members;
  void* c;  // my rows, or all
  long long stride;
  int m, n, k;
  int rows_a;  // of A's box
  gemm_rs::DirectPlan plan;
  cudaStream_t stream;
};

struct DirectKernel {
  cudaError_t (*prepare)();  // once before the first run(), on each GPU
  // How many clusters of `size` blocks run at a time; after prepare().
  cudaError_t (*clusters)(int size, int* count);
  cudaError_t (*run)(const DirectCall&);
  int box_b;                 // rows of B's box
  std::uint64_t tile_words;  // as a tile travels
};

// `tile`: of gemm_rs::kDirectTiles, one that goes directly.
const DirectKernel& direct_kernel(DType dtype, int tile);

}  // namespace weft::kernels::sm90
