// The deprecated collectives over active sets: active_set.hpp behind the names of active_set.def.h.
#include <complex>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include <weft/collective.hpp>
#include <weft/types.hpp>

#include "host/api/shmem/active_set.hpp"
#include "host/api/blocks.hpp"

namespace weft::shmem {
namespace {

// Failures of collectives are reported and name the routine; those of making a set's team do not.
[[gnu::cold]] void report_of(const char* routine, const Status& status) {
  if (std::string_view(status.text()).find(routine) != std::string_view::npos)
    return report(status).ignore();
  report(Status::error(status.code(), fmt::format("{}: {}", routine, status.text()))).ignore();
}

// pSync or pWrk that is not symmetric, reported. Only with WEFT_CHECK=1: most calls do not touch
// them, so nothing else would notice.
bool is_misplaced(const char* routine, const char* argument, const void* words, std::size_t bytes) {
  if (!checks() || runtime(routine)->offset_of(words, bytes)) return false;
  refuse_address(routine, argument, words, Code::kNotSymmetric,
                 fmt::format("is not {} bytes of symmetric memory", bytes));
  return true;
}

// operation(place) of a set of which this PE is a member.
template <class Operation>
void together_in(const char* routine, const ActiveSet& set, Operation operation) {
  const weft_shmem_team* place = admit(routine, SHMEM_TEAM_WORLD);
  if (place == nullptr) return;
  if (is_misplaced(routine, "pSync", set.psync, Runtime::kTeamWords * sizeof(long))) return;
  const CallerName name(routine);
  if (set.start != 0 || set.log_stride != 0 || set.size != place->team.size) {
    auto found = place_of(set);
    if (!found) {
      report_of(routine, found.status());
      return settle(found.status());
    }
    place = *found;
  }
  settle(operation(*place));
}

// The same for operation(context, team).
template <class Operation>
void together(const char* routine, const ActiveSet& set, Operation operation) {
  together_in(routine, set,
              [&](const weft_shmem_team& place) { return operation(*place.context, place.team); });
}

void set_synchronize(const char* routine, const ActiveSet& set) {
  together(routine, set, [](Context& c, const Team& t) { return sync(c, t); });
}

void set_barrier(const char* routine, const ActiveSet& set) {
  together_in(routine, set, barrier_of);
}

void broadcast(const char* routine, const ActiveSet& set, void* dest, const void* source,
               std::size_t block, std::size_t count, int root) {
  together(routine, set, [=](Context& c, const Team& t) {
    return broadcast_bytes(c, t, dest, source, bytes_of_blocks(block, count), root, false);
  });
}

void collect(const char* routine, const ActiveSet& set, void* dest, const void* source,
             std::size_t block, std::size_t count) {
  together(routine, set, [=](Context& c, const Team& t) {
    return collect_bytes(c, t, dest, source, bytes_of_blocks(block, count));
  });
}

void fcollect(const char* routine, const ActiveSet& set, void* dest, const void* source,
              std::size_t block, std::size_t count) {
  together(routine, set, [=](Context& c, const Team& t) {
    return fcollect_bytes(c, t, dest, source, bytes_of_blocks(block, count));
  });
}

void alltoall(const char* routine, const ActiveSet& set, void* dest, const void* source,
              std::size_t block, std::size_t count) {
  together(routine, set, [=](Context& c, const Team& t) {
    return alltoall_bytes(c, t, dest, source, bytes_of_blocks(block, count));
  });
}

void alltoalls(const char* routine, const ActiveSet& set, void* dest, const void* source,
               std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t block, std::size_t count) {
  together(routine, set, [=](Context& c, const Team& t) {
    return alltoalls_bytes(c, t, dest, source, dst, sst, block, count);
  });
}

// pWrk is not needed.
template <ReduceOp kOp, class T>
void to_all(const char* routine, const ActiveSet& set, T* dest, const T* source, int nreduce,
            T* pwrk) {
  const std::size_t count = nreduce < 0 ? 0 : static_cast<std::size_t>(nreduce);
  together(routine, set, [=](Context& c, const Team& t) {
    if (is_misplaced(routine, "pWrk", pwrk, (count / 2 + 1) * sizeof(T))) return Status::ok();
    return reduce(c, t, dest, source, count, kOp);
  });
}

}  // namespace
}  // namespace weft::shmem

#define WEFT_SHMEM_GROUP "active_set.def.h"
#define WEFT_SHMEM_ROUTINE WEFT_SHMEM_DEFINE
#include <shmem/families.def.h>
