#include "kernels/fused/gemm_reduce_scatter/members.hpp"

#include "kernels/core/status.hpp"

namespace weft::kernels::gemm_rs {

Result<Members> members_of(Runtime& runtime, const Team& team, const Space& space) {
  ASSIGN_OR_RETURN(const DeviceContext handle, runtime.context().device());
  Members members{handle, team, space, {}, {}};
  for (int rank = 0; rank < team.size; ++rank) {
    if (rank == team.rank) continue;
    const int sender = sender_number(team.rank, rank, team.size);
    const auto there = [&](void* mine) { return runtime.context().ptr(mine, team.pe_of(rank)); };
    members.slot[rank] = static_cast<std::byte*>(there(space.slot(0, sender)));
    members.flags[rank] = static_cast<std::uint64_t*>(there(space.flag(sender, 0)));
  }
  return members;
}

Result<OneKernelMembers> members_of(Runtime& runtime, const Team& team,
                                    const OneKernelSpace& space) {
  ASSIGN_OR_RETURN(const DeviceContext handle, runtime.context().device());
  OneKernelMembers members{handle, team, space, {}};
  for (int rank = 0; rank < team.size; ++rank)
    members.words[rank] =
        static_cast<std::uint64_t*>(runtime.context().ptr(space.words, team.pe_of(rank)));
  return members;
}

}  // namespace weft::kernels::gemm_rs
