// The kernels of sm_90a that send and add up, by shape and type, as the host sees them.
#pragma once

#include <weft/device/handle.hpp>
#include <weft/team.hpp>

#include "kernels/fused/gemm_reduce_scatter/plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/space.hpp"
#include "kernels/gemm/kernel_entry_sm90.hpp"

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
