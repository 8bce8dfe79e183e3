// Kernels of the collectives' tests: one step of a script, and many calls in a row.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>
#include <weft/team.hpp>

#include "tests/support/collective_script.hpp"

namespace weft::test {

// The arguments of one step, called by every thread of the scope.
template <class T>
struct StepCall {
  DeviceContext handle;
  Team team;
  script::Kind kind;
  std::size_t count, source_count;
  int root;
  std::ptrdiff_t dst_stride, src_stride;
  T* dst;
  const T* src;
  int* answers;  // one per thread of the block
};

template <class Scope, class T>
struct MoveStep {
  StepCall<T> c;

  WEFT_DEVICE void operator()() const {
    c.answers[dev::thread_rank()] = call(dev::Context(c.handle), Scope{}) ? 1 : 0;
  }
  WEFT_DEVICE bool call(const dev::Context& ctx, Scope scope) const {
    using script::Kind;
    switch (c.kind) {
      case Kind::kSync: return dev::sync(ctx, scope, c.team);
      case Kind::kBarrier: return dev::barrier(ctx, scope, c.team);
      case Kind::kBroadcast:
        return dev::broadcast(ctx, scope, c.team, c.dst, c.src, c.count, c.root);
      case Kind::kFcollect: return dev::fcollect(ctx, scope, c.team, c.dst, c.src, c.count);
      case Kind::kCollect: return dev::collect(ctx, scope, c.team, c.dst, c.src, c.source_count);
      case Kind::kAlltoall: return dev::alltoall(ctx, scope, c.team, c.dst, c.src, c.count);
      default:
        return dev::alltoalls(ctx, scope, c.team, c.dst, c.src, c.dst_stride, c.src_stride,
                              c.count);
    }
  }
};

template <class Scope, class T, ReduceOp kOp>
struct ReduceStep {
  StepCall<T> c;

  WEFT_DEVICE void operator()() const {
    c.answers[dev::thread_rank()] = call(dev::Context(c.handle), Scope{}) ? 1 : 0;
  }
  WEFT_DEVICE bool call(const dev::Context& ctx, Scope scope) const {
    using script::Kind;
    switch (c.kind) {
      case Kind::kReduce: return dev::reduce<kOp>(ctx, scope, c.team, c.dst, c.src, c.count);
      case Kind::kReduceScatter:
        return dev::reducescatter<kOp>(ctx, scope, c.team, c.dst, c.src, c.count);
      case Kind::kScanInclusive:
        return dev::scan_inclusive<kOp>(ctx, scope, c.team, c.dst, c.src, c.count);
      default: return dev::scan_exclusive<kOp>(ctx, scope, c.team, c.dst, c.src, c.count);
    }
  }
};

// Each block has a team of its own and calls many collectives in a row, without the host and
// without barriers in between.
struct ManyCalls {
  DeviceContext handle;
  const Team* teams;    // per block
  std::int64_t* words;  // per block: 4
  int rounds;
  int* answers;  // one per thread of the grid

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const dev::Block scope;
    const auto block = dev::block_rank();
    const Team& team = teams[block];
    std::int64_t* mine = words + 4 * block;
    bool ok = true;
    for (int round = 1; ok && round <= rounds; ++round) {
      const int root = round % team.size;
      if (scope.rank() == 0) mine[0] = team.rank + round;
      ok = dev::broadcast(ctx, scope, team, mine + 1, mine, 1, root) && mine[1] == root + round;
      ok = scope.all(ok) && dev::reduce<ReduceOp::kSum>(ctx, scope, team, mine + 2, mine + 1, 1) &&
           mine[2] == std::int64_t{team.size} * (root + round);
      ok = scope.all(ok) &&
           dev::scan_exclusive<ReduceOp::kSum>(ctx, scope, team, mine + 3, mine, 1) &&
           mine[3] == std::int64_t{team.rank} * (team.rank - 1) / 2 + team.rank * round;
      ok = scope.all(ok);
    }
    answers[block * dev::block_size() + dev::thread_rank()] = ok ? 1 : 0;
  }
};

}  // namespace weft::test
