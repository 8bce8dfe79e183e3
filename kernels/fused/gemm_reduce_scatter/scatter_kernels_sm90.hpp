// The kernels of sm_90a that send and add up, by shape and type, as the host sees them.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <weft/device/handle.hpp>
#include <weft/kernels/types.hpp>
#include <weft/team.hpp>

#include "kernels/fused/gemm_reduce_scatter/plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/space.hpp"

namespace weft::kernels::sm90 {

using gemm_rs::kMostMembers;

// The members as one of them sees them: all that does not depend on the call.
struct Members {
  DeviceContext handle;
  Team team;
  gemm_rs::Space space;
  // Where member r has my slot of even rounds, and my flags.
  std::byte* slot[kMostMembers];
  std::uint64_t* flags[kMostMembers];
};

struct ScatterCall {
  CUtensorMap a, b, c;  // boxes as ScatterKernel says; a: members * m rows in one; c: my rows
  Members members;
  int k;
  int rows_a;  // of A's box
  gemm_rs::Plan plan;
  cudaStream_t stream;
};

struct ScatterKernel {
  cudaError_t (*prepare)();  // once before the first run(), on each GPU
  // How many clusters of two blocks run at a time; after prepare().
  cudaError_t (*pairs)(int* count);
  cudaError_t (*run)(const ScatterCall&);
  int box_b, box_c;          // rows of B's box, columns of C's (64 rows)
  std::uint64_t tile_bytes;  // as a tile travels, with kTileFlags flags
};
inline constexpr std::uint64_t kTileFlags = 2;  // one for each consumer

// `tile`: of gemm::kTiles, one that scatters.
const ScatterKernel& scatter_kernel(DType dtype, int tile);

}  // namespace weft::kernels::sm90
