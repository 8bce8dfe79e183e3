// The clock of every measurement. steady_clock costs about 20 ns a look, so calls that take
// nanoseconds are timed in batches (measure.cpp), never one by one.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <weft/result.hpp>

namespace weft::perf {

using Ns = std::uint64_t;
using Count = std::uint64_t;

inline Ns now_ns() {
  return static_cast<Ns>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::steady_clock::now().time_since_epoch())
                             .count());
}

// The time of `iters` calls of op(i) and one of finish(). Both return Status.
//
// The loops are functions of their own and take what they call by value: so their state lives in
// registers, as in a user's own loop, whatever surrounds the measurement. (A loop counter kept in
// memory makes a locked add a third slower, which has to wait for that store.) Give them lambdas
// that capture by value, [=, &ctx].
template <class Op, class Finish>
[[gnu::noinline]] Result<Ns> time_loop(Count iters, Op op, Finish finish) {
  const Ns start = now_ns();
  for (Count i = 0; i < iters; ++i)
    if (Status status = op(i); !status) return status;
  if (Status status = finish(); !status) return status;
  return now_ns() - start;
}

template <class Op>
Result<Ns> time_loop(Count iters, Op op) {
  return time_loop(iters, std::move(op), [] { return Status::ok(); });
}

// The same for baselines, which cannot fail.
template <class Op>
[[gnu::noinline]] Ns time_plain(Count iters, Op op) {
  const Ns start = now_ns();
  for (Count i = 0; i < iters; ++i) op(i);
  return now_ns() - start;
}

}  // namespace weft::perf
