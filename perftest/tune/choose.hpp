// Which ways of a collective are worth measuring, and what a table has to say when they were. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include <weft/kernels/plan.hpp>

namespace weft::perf::tune {

// How a collective may be carried out.
struct Way {
  kernels::Algorithm algorithm = kernels::Algorithm::kSimple;
  unsigned blocks = 1, threads = 1;
};
inline bool operator==(const Way& a, const Way& b) {
  return a.algorithm == b.algorithm && a.blocks == b.blocks && a.threads == b.threads;
}

struct Measured {
  Way way;
  std::size_t bytes = 0;
  double us = 0;
};

std::vector<Way> ways_of(kernels::Collective what, int npes, bool gpu);

// A way that costs so much more than the best one, and more with every size, is measured no longer.
inline constexpr double kHopeless = 3;
// A way stays on from one size to the next while another is not better by more: what differs less
// is noise, and a table is to be short.
inline constexpr double kNoise = 1.03;

// Rows for teams of up to `npes`, for all sizes, from what was measured at some: those in between
// go like the next larger one.
std::vector<kernels::PlanRow> choose(kernels::Collective what, int npes,
                                     const std::vector<Measured>& all);

}  // namespace weft::perf::tune
