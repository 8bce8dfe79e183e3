// Running what the command line asks for, on one PE of a job.
#pragma once

#include <vector>

#include "perftest/job.hpp"
#include "perftest/registry.hpp"
#include "perftest/report.hpp"

namespace weft::perf {

// The outcome of a run; wrong data makes the exit status 1, time never does.
struct Outcome {
  bool wrong = false;
  bool stopped = false;
};

// Collective. Reports on PE 0, where `reporter` is not null. Rows that time themselves run set by
// set.
Result<Outcome> run_tests(Job& job, const std::vector<const Row*>& rows, Reporter* reporter);

// Collective: one line of one row.
Result<Line> run_line(Job& job, const Row& row, const Point& point, bool floor, double seconds);

// Collective: the speeds that Weft promises, each beside its limit.
Result<Outcome> run_claims(Job& job, Reporter* reporter);

}  // namespace weft::perf
