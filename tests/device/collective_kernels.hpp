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

// Calls of growing size by one scope, without barriers in between: what one call has brought is
// looked at while others may have made the next. Bytes at a multiple of 16, and one behind.
template <class Scope>
struct ManySizes {
  static constexpr std::size_t kMostBytes = 50000;
  static constexpr std::size_t kSizes = 12;
  DeviceContext handle;
  Team team;
  std::uint8_t* memory;  // 2 * size * (kMostBytes + 16)
  int* wrong;            // one per thread

  WEFT_DEVICE static std::size_t size_at(std::size_t i) {
    const std::size_t sizes[kSizes] = {1,    16,   64,    80,    100,   2048,
                                       2064, 4099, 16384, 16400, 32800, kMostBytes};
    return sizes[i];
  }
  WEFT_DEVICE static std::uint8_t value(int call, int from, std::size_t at) {
    return static_cast<std::uint8_t>(static_cast<std::size_t>(call * 37 + from * 11) + at * 7 +
                                     at / 251);
  }
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Scope scope;
    const auto n = static_cast<std::size_t>(team.size),
               rank = static_cast<std::size_t>(scope.rank()),
               step = static_cast<std::size_t>(scope.size());
    std::uint8_t* const half = memory + n * (kMostBytes + 16);
    int call = 0, bad = 0;
    const auto check = [&](bool ok, const std::uint8_t* block, std::size_t bytes, int from,
                           std::size_t at) {
      if (!ok) ++bad;
      for (std::size_t i = rank; ok && i < bytes; i += step)
        if (block[i] != value(call, from, at + i)) ++bad;
    };
    const auto check_sums = [&](bool ok, const std::uint8_t* sums, std::size_t bytes,
                                std::size_t at) {
      if (!ok) ++bad;
      for (std::size_t i = rank; ok && i < bytes; i += step) {
        unsigned sum = 0;
        for (int from = 0; from < team.size; ++from) sum += value(call, from, at + i);
        if (sums[i] != static_cast<std::uint8_t>(sum)) ++bad;
      }
    };
    for (std::size_t shift = 0; shift < 2; ++shift)
      for (std::size_t k = 0; k < kSizes; ++k) {
        const std::size_t bytes = size_at(k);
        const std::size_t at = static_cast<std::size_t>(team.rank) * bytes;
        std::uint8_t* const src = memory + shift;
        std::uint8_t* const dst = half;
        const auto fill = [&](std::size_t all) {
          scope.sync();  // all of it has been looked at
          ++call;
          for (std::size_t i = rank; i < all; i += step) src[i] = value(call, team.rank, i);
        };
        fill(bytes);
        bool ok = dev::fcollect(ctx, scope, team, dst, src, bytes);
        for (std::size_t from = 0; from < n; ++from)
          check(ok, dst + from * bytes, bytes, static_cast<int>(from), 0);
        fill(n * bytes);
        ok = dev::alltoall(ctx, scope, team, dst, src, bytes);
        for (std::size_t from = 0; from < n; ++from)
          check(ok, dst + from * bytes, bytes, static_cast<int>(from), at);
        const int root = call % team.size;
        fill(bytes);
        ok = dev::broadcast(ctx, scope, team, dst, src, bytes, root);
        check(ok, dst, bytes, root, 0);
        fill(bytes);
        ok = dev::broadcast(ctx, scope, team, src, src, bytes, root);
        check(ok, src, bytes, root, 0);
        if (k % 2 != 0) continue;  // of the sums half the sizes, and in place the small ones
        for (std::uint8_t* const to : {dst, src}) {
          if (to == src && bytes > 100) break;
          fill(n * bytes);
          check_sums(dev::reducescatter<ReduceOp::kSum>(ctx, scope, team, to, src, bytes), to,
                     bytes, at);
          fill(bytes);
          check_sums(dev::reduce<ReduceOp::kSum>(ctx, scope, team, to, src, bytes), to, bytes, 0);
        }
      }
    wrong[dev::thread_rank()] = bad;
  }
};

}  // namespace weft::test
