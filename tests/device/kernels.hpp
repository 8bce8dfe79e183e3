// Kernels of the device tests: the user's side of weft/device.hpp, compiled for every target.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include <weft/dev/platform.hpp>

// Before the parameters of a kernel's body that is a lambda: [=] WEFT_KERNEL(...) { ... }
#if WEFT_TARGET_CPU
#define WEFT_KERNEL
#else
#define WEFT_KERNEL __device__
#endif

namespace weft::test {

inline constexpr unsigned kWarp = dev::platform::kWarpSize;

// The threads that make a call together, and their number in the grid.
struct Groups {
  std::size_t rank, count;
};
template <class Scope>
struct GroupsOf;
template <>
struct GroupsOf<dev::Thread> {
  WEFT_DEVICE static Groups get() {
    const std::size_t block = dev::block_size();
    return {dev::block_rank() * block + dev::thread_rank(), dev::grid_size() * block};
  }
};
template <>
struct GroupsOf<dev::Warp> {
  WEFT_DEVICE static Groups get() {
    const std::size_t warps = (dev::block_size() + dev::warp_size() - 1) / dev::warp_size();
    return {dev::block_rank() * warps + dev::thread_rank() / dev::warp_size(),
            dev::grid_size() * warps};
  }
};
template <>
struct GroupsOf<dev::Block> {
  WEFT_DEVICE static Groups get() { return {dev::block_rank(), dev::grid_size()}; }
};

template <class Scope>
struct GroupsOf<dev::Bulk<Scope>> : GroupsOf<Scope> {};

inline constexpr unsigned kStage = 2048;  // bytes, of each group that copies in bulk

template <class Scope>
struct ScopeOf {
  WEFT_DEVICE static Scope get() { return {}; }
};
template <class Scope>
struct ScopeOf<dev::Bulk<Scope>> {
  WEFT_DEVICE static dev::Bulk<Scope> get() {
    const std::size_t groups = GroupsOf<Scope>::get().count / dev::grid_size();
    const std::size_t mine = GroupsOf<Scope>::get().rank % groups;
    return {Scope{}, dev::shared<std::byte>() + mine * kStage, kStage};
  }
};

// `count` elements from src[src_at] to dst[dst_at].
struct Transfer {
  std::size_t dst_at, src_at, count;
  std::ptrdiff_t dst_stride, src_stride;
};

enum class Move { kPut, kPutNbi, kPutSet, kPutNbiAdd, kIput, kGet, kGetNbi, kIget };

// Each group makes every count-th transfer of the list; then all is completed. With a notify, word
// i tells that transfer i has arrived.
template <class Scope, class T>
struct MoveAll {
  DeviceContext handle;
  Move move;
  T* dst;
  const T* src;
  const Transfer* list;
  std::size_t transfers;
  int pe;
  std::uint64_t* arrived;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Scope scope = ScopeOf<Scope>::get();
    const Groups mine = GroupsOf<Scope>::get();
    for (std::size_t i = mine.rank; i < transfers; i += mine.count) {
      const Transfer& t = list[i];
      T* to = dst + t.dst_at;
      const T* from = src + t.src_at;
      switch (move) {
        case Move::kPut: ctx.put(scope, to, from, t.count, pe); break;
        case Move::kPutNbi: ctx.put_nbi(scope, to, from, t.count, pe); break;
        case Move::kPutSet: ctx.put(scope, to, from, t.count, pe, set(arrived + i, i + 1)); break;
        case Move::kPutNbiAdd:
          ctx.put_nbi(scope, to, from, t.count, pe, add(arrived + i, i + 1));
          break;
        case Move::kIput: ctx.iput(scope, to, from, t.dst_stride, t.src_stride, t.count, pe); break;
        case Move::kGet: ctx.get(scope, to, from, t.count, pe); break;
        case Move::kGetNbi: ctx.get_nbi(scope, to, from, t.count, pe); break;
        case Move::kIget: ctx.iget(scope, to, from, t.dst_stride, t.src_stride, t.count, pe); break;
      }
    }
    ctx.quiet(scope);
  }
};

// Waits for every transfer of a MoveAll of the neighbour.
template <class Scope>
struct AwaitAll {
  DeviceContext handle;
  std::uint64_t* arrived;
  const std::uint64_t* wanted;
  std::size_t transfers;
  int* timeouts;  // one per thread of the grid

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Scope scope;
    const bool ok = ctx.wait_until_all_vector(scope, arrived, transfers, nullptr, Cmp::kEq, wanted);
    timeouts[dev::block_rank() * dev::block_size() + dev::thread_rank()] = ok ? 0 : 1;
  }
};

// Every thread stores its value to its own place at the neighbour, and reads it back.
template <class T>
struct SingleValues {
  DeviceContext handle;
  T* there;         // symmetric, one per thread
  const T* values;  // one per thread
  T* back;
  int pe;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const std::size_t me = dev::block_rank() * dev::block_size() + dev::thread_rank();
    ctx.p(there + me, values[me], pe);
    ctx.quiet(dev::Thread{});
    back[me] = ctx.g(there + me, pe);
  }
};

enum class Amo {
  kSet,
  kFetch,
  kSwap,  // these three for floats, too
  kAdd,
  kInc,
  kAnd,
  kOr,
  kXor,
  kCompareSwap,
  kFetchAdd,
  kFetchInc,
  kFetchAnd,
  kFetchOr,
  kFetchXor,
};

template <class T>
struct AmoStep {
  Amo amo;
  T value, compare;
};

// One thread does the steps one after the other on one word; old values of those that fetch.
template <class T>
struct AmoScript {
  DeviceContext handle;
  T* word;
  const AmoStep<T>* steps;
  std::size_t count;
  T* old;
  int pe;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    for (std::size_t i = 0; i < count; ++i) {
      step(ctx, steps[i], old[i]);
      ctx.quiet_pe(pe);
    }
  }

  WEFT_DEVICE void step(const dev::Context& ctx, const AmoStep<T>& s, T& was) const {
    switch (s.amo) {
      case Amo::kSet: return ctx.atomic_set(word, s.value, pe);
      case Amo::kFetch: was = ctx.atomic_fetch(word, pe); return;
      case Amo::kSwap: was = ctx.atomic_swap(word, s.value, pe); return;
      default: break;
    }
    if constexpr (is_amo_type<T>) {
      switch (s.amo) {
        case Amo::kAdd: return ctx.atomic_add(word, s.value, pe);
        case Amo::kInc: return ctx.atomic_inc(word, pe);
        case Amo::kAnd: return ctx.atomic_and(word, s.value, pe);
        case Amo::kOr: return ctx.atomic_or(word, s.value, pe);
        case Amo::kXor: return ctx.atomic_xor(word, s.value, pe);
        case Amo::kCompareSwap: was = ctx.atomic_compare_swap(word, s.compare, s.value, pe); return;
        case Amo::kFetchAdd: was = ctx.atomic_fetch_add(word, s.value, pe); return;
        case Amo::kFetchInc: was = ctx.atomic_fetch_inc(word, pe); return;
        case Amo::kFetchAnd: was = ctx.atomic_fetch_and(word, s.value, pe); return;
        case Amo::kFetchOr: was = ctx.atomic_fetch_or(word, s.value, pe); return;
        case Amo::kFetchXor: was = ctx.atomic_fetch_xor(word, s.value, pe); return;
        default: break;
      }
    }
  }
};

// Every thread of every PE draws tickets at `pe` and adds to a sum there.
template <class T>
struct Tickets {
  DeviceContext handle;
  T* counter;
  T* sum;
  T* drawn;  // `each` per thread
  int each;
  int pe;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const std::size_t me = dev::block_rank() * dev::block_size() + dev::thread_rank();
    for (int i = 0; i < each; ++i) {
      const T ticket = ctx.atomic_fetch_inc(counter, pe);
      drawn[me * static_cast<std::size_t>(each) + static_cast<std::size_t>(i)] = ticket;
      ctx.atomic_add(sum, ticket, pe);
    }
    ctx.quiet(dev::Thread{});
  }
};

enum class Wait { kOne, kAll, kAllVector, kAny, kAnyVector, kSome, kSomeVector };

// The answer that each thread of a waiting scope got. `indices` has room for `count` per group.
template <class Scope, class T>
struct WaitOn {
  DeviceContext handle;
  Wait wait;
  const T* words;
  std::size_t count;
  const int* status;
  Cmp cmp;
  const T* values;
  std::size_t* indices;
  std::size_t* answers;  // one per thread

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Scope scope;
    std::size_t* found = indices + GroupsOf<Scope>::get().rank * count;
    answers[dev::block_rank() * dev::block_size() + dev::thread_rank()] = answer(ctx, scope, found);
  }
  WEFT_DEVICE std::size_t answer(const dev::Context& ctx, Scope scope, std::size_t* found) const {
    const T value = values[0];
    switch (wait) {
      case Wait::kOne: return ctx.wait_until(scope, words, cmp, value);
      case Wait::kAll: return ctx.wait_until_all(scope, words, count, status, cmp, value);
      case Wait::kAllVector:
        return ctx.wait_until_all_vector(scope, words, count, status, cmp, values);
      case Wait::kAny: return ctx.wait_until_any(scope, words, count, status, cmp, value);
      case Wait::kAnyVector:
        return ctx.wait_until_any_vector(scope, words, count, status, cmp, values);
      case Wait::kSome: return ctx.wait_until_some(scope, words, count, found, status, cmp, value);
      case Wait::kSomeVector:
        return ctx.wait_until_some_vector(scope, words, count, found, status, cmp, values);
    }
    return 0;
  }
};

// One thread tests in every form.
template <class T>
struct TestAll {
  DeviceContext handle;
  const T* words;
  std::size_t count;
  const int* status;
  Cmp cmp;
  const T* values;
  std::size_t* indices;  // 2 * count
  std::size_t* answers;  // 7

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    answers[0] = ctx.test(words, cmp, values[0]);
    answers[1] = ctx.test_all(words, count, status, cmp, values[0]);
    answers[2] = ctx.test_all_vector(words, count, status, cmp, values);
    answers[3] = ctx.test_any(words, count, status, cmp, values[0]);
    answers[4] = ctx.test_any_vector(words, count, status, cmp, values);
    answers[5] = ctx.test_some(words, count, indices, status, cmp, values[0]);
    answers[6] = ctx.test_some_vector(words, count, indices + count, status, cmp, values);
  }
};

// A thread looks for any word until each was found: by tests, and by waits.
struct FindAll {
  DeviceContext handle;
  const int* words;
  std::size_t count;
  int* times;  // 2 * count: how often each was found

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    std::size_t missing = 2 * count;
    while (missing != 0) {
      const std::size_t tested = ctx.test_any(words, count, nullptr, Cmp::kEq, 1);
      const std::size_t waited =
          ctx.wait_until_any(dev::Thread{}, words, count, nullptr, Cmp::kEq, 1);
      if (++times[tested] == 1) --missing;
      if (++times[count + waited] == 1) --missing;
    }
  }
};

// A thread stores words one after the other; whoever sees one sees all before it.
template <class T>
struct Store {
  DeviceContext handle;
  T* words;
  const T* values;
  std::size_t count;
  int pe;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    for (std::size_t i = 0; i < count; ++i) {
      ctx.p(words + i, values[i], pe);
      ctx.fence_pe(pe);
    }
    ctx.quiet(dev::Thread{});
  }
};

// Numbers travel round the ring of PEs, one lap after the other; each PE adds one.
template <class Scope>
struct RoundTrip {
  DeviceContext handle;
  std::uint64_t* data;  // `count`
  std::uint64_t* signal;
  std::size_t count;
  std::uint64_t laps;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const Scope scope;
    const int next = (ctx.pe() + 1) % ctx.npes();
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
      if (ctx.pe() != 0 && !ctx.wait_until(scope, signal, Cmp::kGe, lap)) return;
      for (auto i = static_cast<std::size_t>(scope.rank()); i < count;
           i += static_cast<std::size_t>(scope.size()))
        data[i] += 1;
      ctx.put(scope, data, data, count, next, set(signal, lap));
      if (ctx.pe() == 0 && !ctx.wait_until(scope, signal, Cmp::kGe, lap)) return;
    }
  }
};

// The platform's answers about a thread, and the results of its exchanges.
struct Place {
  unsigned thread, threads, block, blocks;
  int warp_rank, warp_size, block_rank, block_threads;
  std::uint64_t from_warp_leader, from_block_leader;
  bool warp_all, block_all, but_one;
  unsigned* shared;
  unsigned mirrored;  // what the thread as far from the end has left in shared memory
};
struct Survey {
  Place* places;

  WEFT_DEVICE void operator()() const {
    const dev::Warp warp;
    const dev::Block block;
    const unsigned me = dev::thread_rank();
    Place& p = places[dev::block_rank() * dev::block_size() + me];
    p.thread = me;
    p.threads = dev::block_size();
    p.block = dev::block_rank();
    p.blocks = dev::grid_size();
    p.warp_rank = warp.rank();
    p.warp_size = warp.size();
    p.block_rank = block.rank();
    p.block_threads = block.size();
    p.from_warp_leader = warp.broadcast(std::uint64_t{1000} + me);
    p.from_block_leader = block.broadcast(std::uint64_t{2000} + me);
    p.warp_all = warp.all(true);
    p.block_all = block.all(true);
    p.but_one = block.all(me != dev::block_size() - 1);
    auto* shared = dev::shared<unsigned>();
    p.shared = shared;
    shared[me] = 100 * p.block + me;
    block.sync();
    p.mirrored = shared[dev::block_size() - 1 - me];
  }
};

}  // namespace weft::test
