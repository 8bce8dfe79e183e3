// Platform: CUDA, sm_70 and later. Atomics are inline PTX, so no heavy header is pulled in and the
// memory model is spelled out: scope .cta, .gpu or .sys, semantics .relaxed, .acquire, .release or
// .acq_rel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if !defined(__CUDACC_RTC__)  // has all of it built in
#include <cuda_runtime.h>
#endif

#include <weft/target.hpp>

#include <weft/dev/platform/bulk_cuda.hpp>
#include <weft/dev/platform/order.hpp>
#include <weft/dev/platform/simt.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace platform {

inline constexpr unsigned kWarpSize = 32;
inline constexpr bool kBlockVotes = true;

// --- together -----------------------------------------------------------------------------------

// The last warp of a block may be short: lanes that are not there are not waited for. To name only
// those that are would cost more than all the rest of a barrier.
inline constexpr unsigned kWholeWarp = 0xffffffffu;

WEFT_DEVICE void sync_warp() { __syncwarp(kWholeWarp); }

template <class T>
WEFT_DEVICE T warp_shuffle(T value, unsigned lane) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "at most 16 bytes");
  unsigned words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  for (unsigned& word : words) word = __shfl_sync(kWholeWarp, word, static_cast<int>(lane));
  memcpy(&value, words, sizeof(T));
  sync_warp();  // the shuffle itself orders no memory
  return value;
}

WEFT_DEVICE bool warp_all(bool mine) {
  const bool all = __all_sync(kWholeWarp, mine) != 0;
  sync_warp();
  return all;
}

// --- memory -------------------------------------------------------------------------------------

// A T as the register that PTX wants: bytes and halves travel in wider ones.
template <std::size_t kBytes>
struct Register;
template <>
struct Register<1> {
  using type = std::uint32_t;
  using plain = std::uint8_t;
};
template <>
struct Register<2> {
  using type = std::uint16_t;
  using plain = type;
};
template <>
struct Register<4> {
  using type = std::uint32_t;
  using plain = type;
};
template <>
struct Register<8> {
  using type = std::uint64_t;
  using plain = type;
};

template <class T>
WEFT_DEVICE typename Register<sizeof(T)>::type to_register(T value) {
  typename Register<sizeof(T)>::plain word;
  memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T>
WEFT_DEVICE T from_register(typename Register<sizeof(T)>::type given) {
  const auto word = static_cast<typename Register<sizeof(T)>::plain>(given);
  T value;
  memcpy(&value, &word, sizeof(T));
  return value;
}

// One instruction in each of its forms, which are few, since nvcc reads each some four times. A
// form that orders for a block alone orders for the device: few calls do so. The branches not taken
// are never instantiated, so a form that PTX does not have (ld.release) is never assembled.
#define WEFT_PTX_FOR_REACH(form, order, ...) \
  if constexpr (kReach == Reach::kSystem) {  \
    form(order ".sys", __VA_ARGS__);         \
  } else {                                   \
    form(order ".gpu", __VA_ARGS__);         \
  }
#define WEFT_PTX(form, ordered, ...)                 \
  if constexpr (kOrder == Order::kRelaxed) {         \
    WEFT_PTX_FOR_REACH(form, "relaxed", __VA_ARGS__) \
  } else {                                           \
    WEFT_PTX_FOR_REACH(form, ordered, __VA_ARGS__)   \
  }
// A relaxed look at what the block itself wrote may find it in its cache.
#define WEFT_PTX_OR_NEAR(form, ordered, ...)                            \
  if constexpr (kOrder == Order::kRelaxed && kReach == Reach::kBlock) { \
    form("relaxed.cta", __VA_ARGS__);                                   \
  } else {                                                              \
    WEFT_PTX(form, ordered, __VA_ARGS__)                                \
  }
template <Order kOrder>
inline constexpr bool acquires = kOrder == Order::kRelaxed || kOrder == Order::kAcquire;
template <Order kOrder>
inline constexpr bool releases = kOrder == Order::kRelaxed || kOrder == Order::kRelease;

// A plain address may also be one of shared memory, for which an atomic takes a loop of its own.
// clang-format off
#define WEFT_PTX_LOAD(how, type, code) \
  asm volatile("ld." how "." type " %0, [%1];" : "=" code(word) : "l"(from) : "memory")
#define WEFT_PTX_STORE(how, type, code) \
  asm volatile("st." how "." type " [%0], %1;" : : "l"(to), code(word) : "memory")
#define WEFT_PTX_RMW(how, op, code) \
  asm volatile("atom." how ".global." op " %0, [%1], %2;" \
               : "=" code(old) : "l"(to), code(word) : "memory")
#define WEFT_PTX_RED(how, op, code) \
  asm volatile("red." how ".global." op " [%0], %1;" : : "l"(to), code(word) : "memory")
#define WEFT_PTX_CAS(how, op, code) \
  asm volatile("atom." how ".global." op " %0, [%1], %2, %3;" \
               : "=" code(old) : "l"(to), code(expected), code(word) : "memory")
// clang-format on

template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T load(const T* from) {
  static_assert(acquires<kOrder>, "a load is relaxed or acquires");
  typename Register<sizeof(T)>::type word;
  if constexpr (sizeof(T) == 1) {
    WEFT_PTX_OR_NEAR(WEFT_PTX_LOAD, "acquire", "u8", "r")
  } else if constexpr (sizeof(T) == 2) {
    WEFT_PTX_OR_NEAR(WEFT_PTX_LOAD, "acquire", "u16", "h")
  } else if constexpr (sizeof(T) == 4) {
    WEFT_PTX_OR_NEAR(WEFT_PTX_LOAD, "acquire", "u32", "r")
  } else {
    WEFT_PTX_OR_NEAR(WEFT_PTX_LOAD, "acquire", "u64", "l")
  }
  return from_register<T>(word);
}

// A fence that does nothing but acquire takes no time to speak of. PTX has it since 8.6, which is
// CUDA 12.8; clang asks for an older one, unless device/bitcode defines this.
#ifndef WEFT_PTX_HAS_ACQUIRE_FENCE
#if defined(__CUDACC_VER_MAJOR__) && !defined(__clang__)
#define WEFT_PTX_HAS_ACQUIRE_FENCE (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208)
#else
#define WEFT_PTX_HAS_ACQUIRE_FENCE 0
#endif
#endif
template <class T, class Holds>
WEFT_DEVICE bool acquire([[maybe_unused]] const T* from, [[maybe_unused]] Holds holds) {
#if WEFT_PTX_HAS_ACQUIRE_FENCE
  asm volatile("fence.acquire.sys;" ::: "memory");
  return true;
#else
  return holds(load<Order::kAcquire, Reach::kSystem>(from));
#endif
}
#undef WEFT_PTX_HAS_ACQUIRE_FENCE

template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE void store(T* to, T value) {
  static_assert(releases<kOrder>, "a store is relaxed or releases");
  const auto word = to_register(value);
  if constexpr (sizeof(T) == 1) {
    WEFT_PTX_OR_NEAR(WEFT_PTX_STORE, "release", "u8", "r")
  } else if constexpr (sizeof(T) == 2) {
    WEFT_PTX_OR_NEAR(WEFT_PTX_STORE, "release", "u16", "h")
  } else if constexpr (sizeof(T) == 4) {
    WEFT_PTX_OR_NEAR(WEFT_PTX_STORE, "release", "u32", "r")
  } else {
    WEFT_PTX_OR_NEAR(WEFT_PTX_STORE, "release", "u64", "l")
  }
}

// The elements of a vector are accesses of their own, in no order (PTX, Vector Data Types).
WEFT_DEVICE Pair load_pair(const std::uint64_t* from) {
  Pair pair;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pair.first), "=l"(pair.second)
               : "l"(from)
               : "memory");
  return pair;
}
WEFT_DEVICE void store_pair(std::uint64_t* to, Pair pair) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};"
               :
               : "l"(to), "l"(pair.first), "l"(pair.second)
               : "memory");
}

template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE T compare_swap(T* to, T compare, T value) {
  static_assert(acquires<kOrder>, "what fetches is relaxed or acquires");
  const auto expected = to_register(compare);
  const auto word = to_register(value);
  typename Register<sizeof(T)>::type old;
  if constexpr (sizeof(T) == 4) {
    WEFT_PTX(WEFT_PTX_CAS, "acquire", "cas.b32", "r")
  } else {
    WEFT_PTX(WEFT_PTX_CAS, "acquire", "cas.b64", "l")
  }
  return from_register<T>(old);
}

#define WEFT_PTX_FUNCTION(name, op32, op64)                                       \
  template <Order kOrder, Reach kReach, class T>                                  \
  WEFT_DEVICE T name(T* to, T value) {                                            \
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 4 or 8 bytes"); \
    static_assert(acquires<kOrder>, "what fetches is relaxed or acquires");       \
    const auto word = to_register(value);                                         \
    typename Register<sizeof(T)>::type old;                                       \
    if constexpr (sizeof(T) == 4) {                                               \
      WEFT_PTX(WEFT_PTX_RMW, "acquire", op32, "r")                                \
    } else {                                                                      \
      WEFT_PTX(WEFT_PTX_RMW, "acquire", op64, "l")                                \
    }                                                                             \
    return from_register<T>(old);                                                 \
  }
WEFT_PTX_FUNCTION(exchange, "exch.b32", "exch.b64")
WEFT_PTX_FUNCTION(fetch_add, "add.u32", "add.u64")
WEFT_PTX_FUNCTION(fetch_and, "and.b32", "and.b64")
WEFT_PTX_FUNCTION(fetch_or, "or.b32", "or.b64")
WEFT_PTX_FUNCTION(fetch_xor, "xor.b32", "xor.b64")

#undef WEFT_PTX_FUNCTION

// Nothing comes back, so nothing is waited for.
template <Order kOrder, Reach kReach, class T>
WEFT_DEVICE void add(T* to, T value) {
  static_assert(releases<kOrder>, "an addition is relaxed or releases");
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics take 4 or 8 bytes");
  const auto word = to_register(value);
  if constexpr (sizeof(T) == 4) {
    WEFT_PTX(WEFT_PTX_RED, "release", "add.u32", "r")
  } else {
    WEFT_PTX(WEFT_PTX_RED, "release", "add.u64", "l")
  }
}

#undef WEFT_PTX_RED
#undef WEFT_PTX_CAS
#undef WEFT_PTX_RMW
#undef WEFT_PTX_STORE
#undef WEFT_PTX_LOAD
#undef WEFT_PTX_OR_NEAR
#undef WEFT_PTX
#undef WEFT_PTX_FOR_REACH

template <Reach kReach>
WEFT_DEVICE void fence() {
  if constexpr (kReach == Reach::kBlock) {
    asm volatile("fence.acq_rel.cta;" ::: "memory");
  } else if constexpr (kReach == Reach::kDevice) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  } else {
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
}

WEFT_DEVICE void full_fence() { asm volatile("fence.sc.sys;" ::: "memory"); }

// The instruction is over once all that its thread has seen is where all see it, what the others
// stored before the barrier included. So what they do behind the next barrier comes later.
inline constexpr bool kFencesForOthers = true;

// Neighbouring threads move neighbouring units: one transaction for the warp.
inline constexpr bool kCopiesShares = false;

template <class T>
WEFT_DEVICE void lies_in_memory(const T& object) {
  asm volatile("" ::"l"(&object) : "memory");
}
template <class T>
WEFT_DEVICE void settle(T& value) {
  if constexpr (sizeof(T) == 4)
    asm("" : "+r"(value));
  else
    asm("" : "+l"(value));
}

// --- time and the rest --------------------------------------------------------------------------

// A message takes less than a microsecond: a sleep would be felt.
inline constexpr std::uint32_t kEagerPolls = 256;

WEFT_DEVICE void relax() {
#if __CUDA_ARCH__ >= 700
  __nanosleep(20);
#endif
}

WEFT_DEVICE std::uint64_t clock_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

WEFT_DEVICE std::uint32_t ticks() {
  std::uint32_t now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
  return now;
}

WEFT_DEVICE std::byte* shared_memory() {
  extern __shared__ __align__(128) unsigned char weft_shared_memory[];
  return reinterpret_cast<std::byte*>(weft_shared_memory);
}

WEFT_DEVICE void trap() { __trap(); }

}  // namespace platform
}  // namespace WEFT_TARGET
}  // namespace weft::dev
