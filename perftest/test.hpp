// The interface of a test, and the point that one line of a table measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "perftest/job.hpp"
#include "perftest/vocabulary.hpp"

namespace weft::perf {

// The point that one line measures; the fields that its row does not use keep their defaults.
struct Point {
  std::size_t bytes = 0;  // of one message, or of one PE's block in a collective
  const TypeInfo* type = nullptr;
  ReduceOp op = ReduceOp::kSum;
  Atomic atomic = Atomic::kAdd;
  ScopeKind scope = ScopeKind::kBlock;

  std::size_t count() const { return bytes / type->bytes; }
};

// The work of one iteration, for rates and bandwidths.
struct Work {
  double operations = 1;
  double bytes = 0;
  double flops = 0;  // multiplications and additions
};

// One test at one point, as one PE sees it. The harness (measure.cpp) calls, on all PEs alike:
//   prepare, then run and run_floor many times in turn, then check; a barrier between the steps.
class Test {
 public:
  virtual ~Test() = default;
  // Destinations hold the wrong bytes, sources fresh ones.
  virtual Status prepare() = 0;
  // `iters` iterations; the time they took on this PE, 0 on one that only looks on.
  virtual Result<Ns> run(Count iters) = 0;
  // The same work by hand on the same buffers, so that the same check proves it. Only if the row
  // names a floor.
  virtual Result<Ns> run_floor(Count iters);
  // Checks what run or run_floor have done since prepare: wrong_data() if it is not right.
  virtual Status check() = 0;
  virtual Work work() const { return {}; }
};

}  // namespace weft::perf
