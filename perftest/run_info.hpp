// The facts of a run: build, machine, job; and what makes its numbers doubtful.
#pragma once

#include "perftest/job.hpp"
#include "perftest/report.hpp"

namespace weft::perf {

RunInfo describe_run(const Job& job);

// Resident memory of this process in bytes; 0 where the system does not say.
std::uint64_t resident_bytes();

}  // namespace weft::perf
