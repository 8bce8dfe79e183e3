// How a body of device code is run and timed: a grid of -c blocks of -t threads, its clock read
// inside the kernel, so that the launch does not count.
#pragma once

#include <algorithm>
#include <utility>

#include <weft/device.hpp>

#include "perftest/job.hpp"
#include "perftest/vocabulary.hpp"

namespace weft::perf {

// An instance of a scope, counted over the grid: a thread, a warp or a block.
struct Unit {
  std::size_t index = 0, count = 1;
};

WEFT_DEVICE Unit my_unit(const dev::Thread&) {
  const std::size_t block = dev::block_size();
  return {dev::block_rank() * block + dev::thread_rank(), dev::grid_size() * block};
}
WEFT_DEVICE Unit my_unit(const dev::Warp&) {
  const std::size_t warps = (dev::block_size() + dev::warp_size() - 1) / dev::warp_size();
  return {dev::block_rank() * warps + dev::thread_rank() / dev::warp_size(),
          dev::grid_size() * warps};
}
WEFT_DEVICE Unit my_unit(const dev::Block&) { return {dev::block_rank(), dev::grid_size()}; }

// The share of `count` elements that a unit moves.
struct Share {
  std::size_t first, count;
};
WEFT_DEVICE Share share_of(std::size_t count, Unit unit) {
  const std::size_t first = count * unit.index / unit.count;
  return {first, count * (unit.index + 1) / unit.count - first};
}

// A body is plain data with
//   bool operator()(ctx, scope, unit, i) const     one iteration; false: a wait has failed, stop
// and a constant kAlone: only the first unit of the grid works.
template <class Scope, class Body>
struct TimedKernel {
  DeviceContext handle;
  Body body;
  Count iters;
  Ns* clock;  // two words for each block: begin and end

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block block;
    const Scope scope;
    const Unit unit = my_unit(scope);
    block.sync();
    const Ns begin = dev::platform::clock_ns();
    if (!Body::kAlone || unit.index == 0) {
      for (Count i = 0; i < iters; ++i)
        if (!body(ctx, scope, unit, i)) break;
      ctx.quiet(scope);
    }
    block.sync();
    if (block.rank() == 0) {
      const Ns end = dev::platform::clock_ns();
      clock[2 * dev::block_rank()] = begin;
      clock[2 * dev::block_rank() + 1] = end;
    }
  }
};

// From the first block's begin to the last block's end.
template <class Scope, class Body>
Result<Ns> run_kernel(Job& job, Scope, const Body& body, Count iters) {
  ASSIGN_OR_RETURN(const DeviceContext handle, job.ctx().device());
  const dev::Grid grid{job.options().blocks, job.options().threads, 0};
  Ns* const clock = job.clock();
  RETURN_IF_ERROR(dev::launch(grid, TimedKernel<Scope, Body>{handle, body, iters, clock}));
  RETURN_IF_ERROR(dev::synchronize());
  RETURN_IF_ERROR(job.runtime().health());  // a wait inside the kernel that timed out
  Ns begin = clock[0], end = clock[1];
  for (unsigned block = 1; block < grid.blocks; ++block) {
    begin = std::min(begin, clock[2 * block]);
    end = std::max(end, clock[2 * block + 1]);
  }
  return end - begin;
}

template <class Body>
Result<Ns> run_kernel(Job& job, ScopeKind scope, const Body& body, Count iters) {
  switch (scope) {
    case ScopeKind::kThread: return run_kernel(job, dev::Thread{}, body, iters);
    case ScopeKind::kWarp: return run_kernel(job, dev::Warp{}, body, iters);
    case ScopeKind::kBlock: break;
  }
  return run_kernel(job, dev::Block{}, body, iters);
}

}  // namespace weft::perf
