// The members of a team as the kernels of one of them see them: all that does not depend on the
// call. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/team.hpp>

#include "kernels/fused/gemm_reduce_scatter/one_kernel_space.hpp"
#include "kernels/fused/gemm_reduce_scatter/space.hpp"

namespace weft::kernels::gemm_rs {

struct Members {
  DeviceContext handle;
  Team team;
  Space space;
  // The addresses of my slot of even rounds, and of my flags, on member r.
  std::byte* slot[kMostMembers];
  std::uint64_t* flags[kMostMembers];
};

struct OneKernelMembers {
  DeviceContext handle;
  Team team;
  OneKernelSpace space;
  std::uint64_t* words[kMostMembers];  // space.words of member r
};

Result<Members> members_of(Runtime& runtime, const Team& team, const Space& space);
Result<OneKernelMembers> members_of(Runtime& runtime, const Team& team,
                                    const OneKernelSpace& space);

}  // namespace weft::kernels::gemm_rs
