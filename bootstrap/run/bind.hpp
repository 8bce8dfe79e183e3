// Where each PE may run.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include <weft/result.hpp>

namespace weft::run {

enum class BindTo { kNone, kCore, kSocket, kNuma };

struct Binding {
  cpu_set_t cpus;
  std::string text;  // "core 3 (CPUs 3,67)"
};

// One per PE; neighbours share what there is too little of. Needs hwloc.
Result<std::vector<Binding>> plan_bindings(BindTo to, int npes);

// The CPUs that this process may use: "0-3,8".
std::string allowed_cpus();
std::string list_cpus(const cpu_set_t& cpus);

}  // namespace weft::run
