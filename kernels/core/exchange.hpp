// The one exchange with which an operator is made. Each PE says what it was given, on which all
// have to agree, so that a difference is an error on all of them and not a wait for ever; and what
// it has, so that all come to the same plan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/team.hpp>

namespace weft::kernels {

// A number that all PEs must be given alike.
struct Given {
  const char* name;
  std::uint64_t value;
  bool may_be_none = false;  // where it is 0, that PE has none
};

struct Facts {
  const char* who;                           // the operator, in errors
  std::vector<Given> given;                  // as many on all PEs
  std::vector<std::uint64_t> measures = {};  // likewise: of each all take the smallest
  std::uint64_t from_first = 0;              // PE 0's counts
};

// The part of its GPU that a PE has. Kernels that wait for those of other PEs must be on it all at
// once, so PEs that share one have a part each. PEs on host threads: no SMs, and one sharer.
struct GpuShare {
  int num_sms = 0;        // of the smallest GPU of all PEs
  int sharers = 1;        // of the one that most PEs have
  bool clusters = false;  // of blocks: all have them
};

// The same on all PEs.
struct Agreement {
  int team_size = 1;      // some PEs may be no members, and know it from here alone
  bool maps_all = false;  // every member maps every other's memory for kernels
  GpuShare gpu;
  std::vector<std::uint64_t> measures;
  std::uint64_t from_first = 0;
};

// kInvalidArgument on all PEs where one was given something else: its text says what and where.
// Collective over the job, and a barrier.
Result<Agreement> exchange(Runtime& runtime, const Team& team, const Facts& facts);

}  // namespace weft::kernels
