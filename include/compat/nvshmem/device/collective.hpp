// Collectives over a team, by the threads of a Scope. All return 0, or NVSHMEMX_ERROR_INTERNAL when
// the fault record says why not.
#pragma once

#include <cstddef>

#include <weft/reduce_op.hpp>

#include "../half.hpp"
#include "../module_state.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

WEFT_DEVICE int code_of(bool done) { return done ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INTERNAL; }

template <class Scope>
struct Collectives {
  template <class T>
  WEFT_DEVICE static int broadcast(nvshmem_team_t team, T* dest, const T* source, std::size_t count,
                                   int root) {
    return code_of(dev::broadcast(context(), Scope{}, team_of(team), dest, source, count, root));
  }
  template <class T>
  WEFT_DEVICE static int fcollect(nvshmem_team_t team, T* dest, const T* source,
                                  std::size_t count) {
    return code_of(dev::fcollect(context(), Scope{}, team_of(team), dest, source, count));
  }
  template <class T>
  WEFT_DEVICE static int alltoall(nvshmem_team_t team, T* dest, const T* source,
                                  std::size_t count) {
    return code_of(dev::alltoall(context(), Scope{}, team_of(team), dest, source, count));
  }
  template <ReduceOp kOp, class T>
  WEFT_DEVICE static int reduce(nvshmem_team_t team, T* dest, const T* source, std::size_t count) {
    return code_of(dev::reduce<kOp>(context(), Scope{}, team_of(team), dest, source, count));
  }
  template <ReduceOp kOp, class T>
  WEFT_DEVICE static int reducescatter(nvshmem_team_t team, T* dest, const T* source,
                                       std::size_t count) {
    return code_of(dev::reducescatter<kOp>(context(), Scope{}, team_of(team), dest, source, count));
  }

  WEFT_DEVICE static int barrier(nvshmem_team_t team) {
    return code_of(dev::barrier(context(), Scope{}, team_of(team)));
  }
  WEFT_DEVICE static int team_sync(nvshmem_team_t team) {
    return code_of(dev::sync(context(), Scope{}, team_of(team)));
  }
  WEFT_DEVICE static void barrier_all() { barrier(NVSHMEM_TEAM_WORLD); }
  WEFT_DEVICE static void sync_all() { team_sync(NVSHMEM_TEAM_WORLD); }
};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
