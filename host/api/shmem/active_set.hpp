// Active sets: PEs start, start + 2^log_stride, ..., over which OpenSHMEM before 1.5 has its
// collectives.
//
// A set is a team whose members find each other at its first use: in pSync, which is what the
// standard has it for. After that its collectives are the team's, and leave pSync alone. A set of
// all PEs is the world from the start.
// Source: OpenSHMEM 1.5, 9.9 and annex F (deprecated).
#pragma once

#include <weft/result.hpp>

#include "host/api/shmem/state.hpp"

namespace weft::shmem {

struct ActiveSet {
  int start;
  int log_stride;
  int size;
  long* psync;  // symmetric; Runtime::kTeamWords longs that are SHMEM_SYNC_VALUE
};

// The team and context of a set of which this PE is a member; made at its first use. They stay
// until forget_active_sets().
Result<const weft_shmem_team*> place_of(const ActiveSet& set);

}  // namespace weft::shmem
