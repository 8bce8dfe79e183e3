// Collectives over teams: the calls of weft/collective.hpp behind the names of collective.def.h.
#include <weft/collective.hpp>

#include <complex>
#include <cstddef>

#include "host/api/blocks.hpp"
#include "host/api/shmem/state.hpp"

namespace weft::shmem {
namespace {

// operation(context, team) for the team behind the handle; what the C names return.
template <class Operation>
int together(const char* routine, shmem_team_t handle, Operation operation) {
  const weft_shmem_team* const place = admit(routine, handle);
  if (place == nullptr) return -1;
  const CallerName name(routine);
  return operation(*place->context, place->team) ? 0 : -1;
}

template <class T>
int broadcast(const char* routine, shmem_team_t team, T* dest, const T* source, std::size_t count,
              int root) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::broadcast(c, t, dest, source, count, root);
  });
}

template <class T>
int collect(const char* routine, shmem_team_t team, T* dest, const T* source, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::collect(c, t, dest, source, count);
  });
}

template <class T>
int fcollect(const char* routine, shmem_team_t team, T* dest, const T* source, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::fcollect(c, t, dest, source, count);
  });
}

template <class T>
int alltoall(const char* routine, shmem_team_t team, T* dest, const T* source, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::alltoall(c, t, dest, source, count);
  });
}

template <class T>
int alltoalls(const char* routine, shmem_team_t team, T* dest, const T* source, std::ptrdiff_t dst,
              std::ptrdiff_t sst, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::alltoalls(c, t, dest, source, dst, sst, count);
  });
}

template <ReduceOp kOp, class T>
int reduce(const char* routine, shmem_team_t team, T* dest, const T* source, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::reduce(c, t, dest, source, count, kOp);
  });
}

template <class T>
int inscan(const char* routine, shmem_team_t team, T* dest, const T* source, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::scan_inclusive(c, t, dest, source, count);
  });
}

template <class T>
int exscan(const char* routine, shmem_team_t team, T* dest, const T* source, std::size_t count) {
  return together(routine, team, [=](Context& c, const Team& t) {
    return weft::scan_exclusive(c, t, dest, source, count);
  });
}

}  // namespace
}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "collective.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
