// The one way in which everything is measured.
#pragma once

#include <vector>

#include "perftest/job.hpp"
#include "perftest/statistics.hpp"
#include "perftest/test.hpp"

namespace weft::perf {

struct Measurement {
  Count iters = 0;       // timed, in all
  Count batch = 0;       // iterations of one sample
  Summary time;          // ns an operation
  Summary floor;         // the same of the baseline; no samples if there is none
  double ratio = 0;      // time to floor, pair by pair
  std::string wrong;     // not empty: data was wrong, and how
  bool stopped = false;  // a signal ended it early
};

struct Plan {
  bool floor = false;     // measure the baseline too, sample by sample in turn
  double seconds = 0.05;  // for all samples of the operation, where -n is not given
  double batch_ns = 0;    // at least, of one sample
};
// 2,000 times what a look at the clock costs. In a kernel, threads also have to meet first.
inline constexpr double kBatchNs = 40e3;
inline constexpr double kKernelBatchNs = 400e3;

// Collective.
Result<Measurement> measure(Job& job, Test& test, const Plan& plan);

}  // namespace weft::perf
