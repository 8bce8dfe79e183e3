// Platform: a grid is host threads (include/weft/device/cpu_grid.hpp). Each takes its identity from
// a thread-local pointer that the kernel's entry sets; a host thread outside any grid is a grid of
// one thread, so device code may be called from plain host code.
//
// ThreadSanitizer is the memory-model test of the device API, so order is carried by operations:
// it does not follow free-standing fences.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/device/cpu_grid.hpp>
#include <weft/target.hpp>

#include <weft/dev/platform/no_bulk.hpp>
#include <weft/dev/platform/order.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace platform {

inline constexpr unsigned kWarpSize = weft::cpu::kWarpSize;
inline constexpr bool kBlockVotes = true;

// --- identity -----------------------------------------------------------------------------------

// The model is named since gcc 13.3 breaks down in large kernels where it chooses it by itself.
#define WEFT_THREAD_LOCAL inline thread_local __attribute__((tls_model("global-dynamic")))
WEFT_THREAD_LOCAL weft::cpu::ThreadState* entered = nullptr;  // set while a kernel runs here
WEFT_THREAD_LOCAL weft::cpu::ThreadState alone;               // of a thread outside any grid
WEFT_THREAD_LOCAL std::uint32_t ticked = 0;                   // by ticks()
#undef WEFT_THREAD_LOCAL

inline weft::cpu::ThreadState& self() { return entered != nullptr ? *entered : alone; }

// Makes the calling thread `state` for as long as the object lives.
class Identity {
 public:
  explicit Identity(weft::cpu::ThreadState& state) : outer_(entered) { entered = &state; }
  ~Identity() { entered = outer_; }
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;

 private:
  weft::cpu::ThreadState* outer_;
};

inline unsigned thread_rank() { return self().thread; }
inline unsigned block_size() { return self().threads; }
inline unsigned block_rank() { return self().block; }
inline unsigned grid_size() { return self().blocks; }

// --- time and the rest --------------------------------------------------------------------------

// Yields now and then: there may be a thousand threads for two cores, and the one waited for must
// get to run.
inline constexpr std::uint32_t kEagerPolls = 0;

template <class T>
inline void settle(T&) {}
template <class T>
inline void lies_in_memory(const T&) {}

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
  if ((++self().spins & 31) == 0) sched_yield();
}

inline std::uint64_t clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint32_t ticks() { return ++ticked; }

inline std::byte* shared_memory() {
  return self().shared == nullptr ? nullptr : self().shared->shared;
}

// The proxy shares the process: it prints the fault first and then ends the job.
inline void trap() {}

// --- memory -------------------------------------------------------------------------------------

template <Order kOrder>
inline constexpr int model = kOrder == Order::kRelaxed   ? __ATOMIC_RELAXED
                             : kOrder == Order::kAcquire ? __ATOMIC_ACQUIRE
                             : kOrder == Order::kRelease ? __ATOMIC_RELEASE
                                                         : __ATOMIC_ACQ_REL;
template <Order kOrder>
inline constexpr int model_after_fence =
    kOrder == Order::kRelaxed || kOrder == Order::kRelease ? __ATOMIC_RELEASE : __ATOMIC_ACQ_REL;
template <Order kOrder>
inline constexpr int model_of_failure =
    kOrder == Order::kRelaxed || kOrder == Order::kRelease ? __ATOMIC_RELAXED : __ATOMIC_ACQUIRE;

// "Everything before comes before every later store of mine" is what a fence promises. Here it is
// kept by releasing each later store; the flag remembers that there is something to release.
template <Reach kReach>
inline void fence() {
  self().fenced = true;
}

inline void full_fence() {
  fence<Reach::kSystem>();
  __sync_synchronize();
}
inline constexpr bool kFencesForOthers = false;

template <Order kOrder, Reach kReach, class T>
inline T load(const T* word) {
  T value;
  __atomic_load(word, &value, model<kOrder>);
  return value;
}

template <class T, class Holds>
inline bool acquire(const T* word, Holds holds) {
  return holds(load<Order::kAcquire, Reach::kSystem>(word));
}

template <Order kOrder, Reach kReach, class T>
inline void store(T* word, T value) {
  if (self().fenced) {
    __atomic_store(word, &value, __ATOMIC_RELEASE);
  } else {
    __atomic_store(word, &value, model<kOrder>);
  }
}

inline Pair load_pair(const std::uint64_t* from) {
  return {load<Order::kRelaxed, Reach::kSystem>(from),
          load<Order::kRelaxed, Reach::kSystem>(from + 1)};
}
inline void store_pair(std::uint64_t* to, Pair pair) {
  store<Order::kRelaxed, Reach::kSystem>(to, pair.first);
  store<Order::kRelaxed, Reach::kSystem>(to + 1, pair.second);
}

template <Order kOrder, Reach kReach, class T>
inline T exchange(T* word, T value) {
  T old;
  if (self().fenced) {
    __atomic_exchange(word, &value, &old, model_after_fence<kOrder>);
  } else {
    __atomic_exchange(word, &value, &old, model<kOrder>);
  }
  return old;
}

template <Order kOrder, Reach kReach, class T>
inline T compare_swap(T* word, T compare, T value) {
  if (self().fenced) {
    __atomic_compare_exchange(word, &compare, &value, false, model_after_fence<kOrder>,
                              model_of_failure<kOrder>);
  } else {
    __atomic_compare_exchange(word, &compare, &value, false, model<kOrder>,
                              model_of_failure<kOrder>);
  }
  return compare;  // the builtin leaves the old value here, also on success
}

#define WEFT_CPU_FETCH(op)                                                             \
  template <Order kOrder, Reach kReach, class T>                                       \
  inline T fetch_##op(T* word, T value) {                                              \
    return self().fenced ? __atomic_fetch_##op(word, value, model_after_fence<kOrder>) \
                         : __atomic_fetch_##op(word, value, model<kOrder>);            \
  }
WEFT_CPU_FETCH(add)
WEFT_CPU_FETCH(and)
WEFT_CPU_FETCH(or)
WEFT_CPU_FETCH(xor)
#undef WEFT_CPU_FETCH
template <Order kOrder, Reach kReach, class T>
inline void add(T* word, T value) {
  (void)fetch_add<kOrder, kReach>(word, value);
}

inline constexpr bool kCopiesShares = true;

// --- together -----------------------------------------------------------------------------------

// The last thread to arrive has acquired what every earlier one released by its count, and passes
// it on with the phase.
inline void arrive_at(weft::cpu::Barrier& barrier, unsigned threads) {
  if (threads == 1) return;
  const std::uint32_t phase = load<Order::kRelaxed, Reach::kBlock>(&barrier.phase);
  const std::uint32_t before = fetch_add<Order::kAcqRel, Reach::kBlock>(&barrier.arrived, 1u);
  if (before + 1 == threads) {
    store<Order::kRelaxed, Reach::kBlock>(&barrier.arrived, 0u);
    store<Order::kRelease, Reach::kBlock>(&barrier.phase, phase + 1);
  } else {
    while (load<Order::kAcquire, Reach::kBlock>(&barrier.phase) == phase) relax();
  }
}

// The threads of my warp, or of my block: who they are, and their barrier.
struct Group {
  weft::cpu::Barrier* barrier = nullptr;  // null: a thread alone
  std::uint64_t* exchange = nullptr;      // two words per thread of the group
  unsigned rank = 0;
  unsigned size = 1;

  void sync() const {
    if (barrier != nullptr) arrive_at(*barrier, size);
  }
};

inline Group my_block() {
  const weft::cpu::ThreadState& me = self();
  if (me.shared == nullptr) return {};
  return {&me.shared->barrier, me.shared->exchange, me.thread, me.threads};
}

inline Group my_warp() {
  const weft::cpu::ThreadState& me = self();
  if (me.shared == nullptr) return {};
  const unsigned warp = me.thread / kWarpSize;
  const unsigned first = warp * kWarpSize;
  const unsigned left = me.threads - first;
  return {&me.shared->warp_barriers[warp], me.shared->exchange + 2 * first, me.thread - first,
          left < kWarpSize ? left : kWarpSize};
}

// Every thread leaves a value, and reads that of `from`. The second barrier keeps the next exchange
// from overtaking slow readers of this one.
template <class T>
inline T exchange_in(const Group& group, T value, unsigned from) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "at most 16 bytes");
  if (group.size == 1) return value;
  std::memcpy(group.exchange + 2 * group.rank, &value, sizeof(T));
  group.sync();
  std::memcpy(&value, group.exchange + 2 * from, sizeof(T));
  group.sync();
  return value;
}

inline bool all_in(const Group& group, bool mine) {
  if (group.size == 1) return mine;
  group.exchange[2 * group.rank] = mine ? 1 : 0;
  group.sync();
  bool all = true;
  for (unsigned i = 0; i < group.size; ++i) all = all && group.exchange[2 * i] != 0;
  group.sync();
  return all;
}

inline void sync_warp() { my_warp().sync(); }
inline void sync_block() { my_block().sync(); }

template <class T>
inline T warp_shuffle(T value, unsigned lane) {
  return exchange_in(my_warp(), value, lane);
}
template <class T>
inline T block_broadcast(T value) {
  return exchange_in(my_block(), value, 0);
}
inline bool warp_all(bool mine) { return all_in(my_warp(), mine); }
inline bool block_all(bool mine) { return all_in(my_block(), mine); }

}  // namespace platform
}  // namespace WEFT_TARGET
}  // namespace weft::dev
