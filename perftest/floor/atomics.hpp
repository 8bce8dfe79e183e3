// Baselines of atomics: the bare instruction on the peer's word.
#pragma once

#include <cstdint>

#include "perftest/timer.hpp"
#include "perftest/vocabulary.hpp"

namespace weft::perf::floor {

// One atomic on *word. fetch_add and add are one `lock xadd` on x86. Returns the old value (or the
// operand where the operation has no result, which nobody looks at).
template <Atomic kAtomic, class T>
T apply(T* word, T operand, T compare) {
  T old = operand;
  if constexpr (kAtomic == Atomic::kSet) {
    __atomic_store(word, &operand, __ATOMIC_RELEASE);
  } else if constexpr (kAtomic == Atomic::kFetch) {
    __atomic_load(word, &old, __ATOMIC_ACQUIRE);
  } else if constexpr (kAtomic == Atomic::kSwap) {
    __atomic_exchange(word, &operand, &old, __ATOMIC_ACQ_REL);
  } else if constexpr (kAtomic == Atomic::kCompareSwap) {
    old = compare;
    __atomic_compare_exchange(word, &old, &operand, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  } else if constexpr (kAtomic == Atomic::kAdd || kAtomic == Atomic::kInc ||
                       kAtomic == Atomic::kFetchAdd || kAtomic == Atomic::kFetchInc) {
    old = __atomic_fetch_add(word, operand, __ATOMIC_ACQ_REL);
  } else if constexpr (kAtomic == Atomic::kAnd || kAtomic == Atomic::kFetchAnd) {
    old = __atomic_fetch_and(word, operand, __ATOMIC_ACQ_REL);
  } else if constexpr (kAtomic == Atomic::kOr || kAtomic == Atomic::kFetchOr) {
    old = __atomic_fetch_or(word, operand, __ATOMIC_ACQ_REL);
  } else {
    old = __atomic_fetch_xor(word, operand, __ATOMIC_ACQ_REL);
  }
  asm volatile("" : : "g"(old) : "memory");  // the result counts: xadd, not a plain locked add
  return old;
}

}  // namespace weft::perf::floor
