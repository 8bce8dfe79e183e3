// Measures the ways of a collective on the job at hand.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <weft/kernels/plan.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>

#include "perftest/tune/choose.hpp"

namespace weft::perf::tune {

struct Sizes {
  std::size_t from = 1024, to = 1 << 20;  // bytes; powers of two in between
};

// A table's rows for one collective, the same on all PEs, who all call. `say`: each measurement.
Result<std::vector<kernels::PlanRow>> tune(Runtime& runtime, kernels::Collective what,
                                           const Sizes& sizes,
                                           const std::function<void(const Measured&)>& say);

}  // namespace weft::perf::tune
