// Collectives over teams: the calls of weft/collective.hpp behind the names of collective.def.h.
#include <weft/collective.hpp>

#include <cstddef>

#include "host/api/blocks.hpp"
#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

// operation(context, team) for the team behind the number; what the C names return.
template <class Operation>
int together(const char* routine, nvshmem_team_t number, Operation operation) {
  const TeamPlace* const place = admit(routine, number);
  if (place == nullptr) return NVSHMEMX_ERROR_INVALID_VALUE;
  const CallerName name(routine);
  return error_code(operation(*place->context, place->team));
}

template <class T>
int broadcast(const char* routine, nvshmem_team_t team, T* dest, const T* source, std::size_t count,
              int root) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::broadcast(c, t, dest, source, count, root);
  });
}

template <class T>
int fcollect(const char* routine, nvshmem_team_t team, T* dest, const T* source,
             std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::fcollect(c, t, dest, source, count);
  });
}

template <class T>
int alltoall(const char* routine, nvshmem_team_t team, T* dest, const T* source,
             std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::alltoall(c, t, dest, source, count);
  });
}

template <ReduceOp kOp, class T>
int reduce(const char* routine, nvshmem_team_t team, T* dest, const T* source, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::reduce(c, t, dest, source, count, kOp);
  });
}

template <ReduceOp kOp, class T>
int reducescatter(const char* routine, nvshmem_team_t team, T* dest, const T* source,
                  std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::reducescatter(c, t, dest, source, count, kOp);
  });
}

}  // namespace
}  // namespace weft::nvshmem

#define WEFT_NVSHMEM_GROUP "collective.def.h"
#define WEFT_NVSHMEM_BOTH WEFT_NVSHMEM_DEFINE
#include <nvshmem/host/routines.def.h>
