// Platform: AMD GPUs (gfx90a, gfx942) under clang's HIP. Atomics are the compiler's scoped
// builtins; waves have 64 lanes and run in lock step, so a spin must never wait for a lane of its
// own wave that sits behind the loop (dev/ring.hpp keeps to that).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hip/hip_runtime.h>

#include <weft/target.hpp>

#include <weft/dev/platform/no_bulk.hpp>
#include <weft/dev/platform/order.hpp>
#include <weft/dev/platform/simt.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace platform {

inline constexpr unsigned kWarpSize = 64;
inline constexpr bool kBlockVotes = false;

// --- together -----------------------------------------------------------------------------------

WEFT_DEVICE void sync_warp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

template <class T>
WEFT_DEVICE T warp_shuffle(T value, unsigned lane) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "at most 16 bytes");
  int words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  for (int& word : words) word = __shfl(word, static_cast<int>(lane));
  memcpy(&value, words, sizeof(T));
  sync_warp();  // the shuffle itself orders no memory
  return value;
}

WEFT_DEVICE bool warp_all(bool mine) {
  const bool all = __all(mine) != 0;
  sync_warp();
  return all;
}

// --- memory -------------------------------------------------------------------------------------

template <Order kOrder>
inline constexpr int model = kOrder == Order::kRelaxed   ? __ATOMIC_RELAXED
                             : kOrder == Order::kAcquire ? __ATOMIC_ACQUIRE
                             : kOrder == Order::kRelease ? __ATOMIC_RELEASE
                                                         : __ATOMIC_ACQ_REL;
template <Order kOrder>
inline constexpr int model_of_failure =
    kOrder == Order::kRelaxed || kOrder == Order::kRelease ? __ATOMIC_RELAXED : __ATOMIC_ACQUIRE;
template <Reach kReach>
inline constexpr int scope_of = kReach == Reach::kBlock    ? __HIP_MEMORY_SCOPE_WORKGROUP
                                : kReach == Reach::kDevice ? __HIP_MEMORY_SCOPE_AGENT
                                                           : __HIP_MEMORY_SCOPE_SYSTEM;

template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T load(const T* word) {
  return __hip_atomic_load(word, model<kOrder>, scope_of<kReach>);
}
template <class T, class Holds>
WEFT_DEVICE bool acquire(const T*, Holds) {
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  return true;
}
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE void store(T* word, T value) {
  __hip_atomic_store(word, value, model<kOrder>, scope_of<kReach>);
}
WEFT_DEVICE Pair load_pair(const std::uint64_t* from) {
  return {load<Order::kRelaxed, Reach::kSystem>(from),
          load<Order::kRelaxed, Reach::kSystem>(from + 1)};
}
WEFT_DEVICE void store_pair(std::uint64_t* to, Pair pair) {
  store<Order::kRelaxed, Reach::kSystem>(to, pair.first);
  store<Order::kRelaxed, Reach::kSystem>(to + 1, pair.second);
}

template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T exchange(T* word, T value) {
  return __hip_atomic_exchange(word, value, model<kOrder>, scope_of<kReach>);
}
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T compare_swap(T* word, T compare, T value) {
  __hip_atomic_compare_exchange_strong(word, &compare, value, model<kOrder>,
                                       model_of_failure<kOrder>, scope_of<kReach>);
  return compare;  // the builtin leaves the old value here, also on success
}
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T fetch_add(T* word, T value) {
  return __hip_atomic_fetch_add(word, value, model<kOrder>, scope_of<kReach>);
}
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE void add(T* word, T value) {
  (void)fetch_add<kOrder, kReach>(word, value);
}
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T fetch_and(T* word, T value) {
  return __hip_atomic_fetch_and(word, value, model<kOrder>, scope_of<kReach>);
}
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T fetch_or(T* word, T value) {
  return __hip_atomic_fetch_or(word, value, model<kOrder>, scope_of<kReach>);
}
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T fetch_xor(T* word, T value) {
  return __hip_atomic_fetch_xor(word, value, model<kOrder>, scope_of<kReach>);
}

template <Reach kReach>
WEFT_DEVICE void fence() {
  if constexpr (kReach == Reach::kBlock) {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  } else if constexpr (kReach == Reach::kDevice) {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
  } else {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "");
  }
}

WEFT_DEVICE void full_fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
inline constexpr bool kFencesForOthers = false;  // each wave waits for its own stores

// Neighbouring threads move neighbouring units: one transaction for the wave.
inline constexpr bool kCopiesShares = false;

// --- time and the rest --------------------------------------------------------------------------

inline constexpr std::uint32_t kEagerPolls = 0;

template <class T>
WEFT_DEVICE void settle(T& value) {
  asm("" : "+v"(value));
}
template <class T>
WEFT_DEVICE void lies_in_memory(const T& object) {
  asm volatile("" ::"v"(&object) : "memory");
}

WEFT_DEVICE void relax() { __builtin_amdgcn_s_sleep(1); }

// The constant 100 MHz counter of gfx9.
WEFT_DEVICE std::uint64_t clock_ns() { return __builtin_amdgcn_s_memrealtime() * 10; }

WEFT_DEVICE std::uint32_t ticks() {
  return static_cast<std::uint32_t>(__builtin_amdgcn_s_memtime());
}

WEFT_DEVICE std::byte* shared_memory() {
  extern __shared__ __attribute__((aligned(128))) unsigned char weft_shared_memory[];
  return reinterpret_cast<std::byte*>(weft_shared_memory);
}

WEFT_DEVICE void trap() { __builtin_trap(); }

}  // namespace platform
}  // namespace WEFT_TARGET
}  // namespace weft::dev
