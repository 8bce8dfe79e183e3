// The words that atomics must leave behind: a model of `n` operations on one word, in closed form.
#pragma once

#include <cstdint>
#include <type_traits>

#include "perftest/contents.hpp"
#include "perftest/elements.hpp"
#include "perftest/timer.hpp"
#include "perftest/vocabulary.hpp"

namespace weft::perf {

// One word, worked on by one thread: its first value, and the operand of each operation.
template <class T>
struct AtomicModel {
  // Small enough that sums of floats are exact.
  static constexpr std::uint64_t kMask = std::is_floating_point_v<T> ? 0xfffff : ~std::uint64_t{0};
  std::uint64_t start = 0, operand = 0;  // bits of integers, values of floats

  // The model of word `i` under `key`.
  static AtomicModel of_word(std::uint64_t key, std::size_t i) {
    return {random_word(key, 2 * i) & kMask, random_word(key, 2 * i + 1) & kMask};
  }

  static constexpr T value(std::uint64_t bits) { return static_cast<T>(bits & kMask); }
  constexpr T first() const { return value(start); }

  // The operand and, for compare_swap, the expected value of operation i.
  template <Atomic kAtomic>
  constexpr T operand_of(Count i) const {
    if constexpr (kAtomic == Atomic::kSet || kAtomic == Atomic::kSwap) return value(operand + i);
    if constexpr (kAtomic == Atomic::kCompareSwap) return value(start + i + 1);
    if constexpr (kAtomic == Atomic::kInc || kAtomic == Atomic::kFetchInc) return T{1};
    return value(operand);
  }
  constexpr T compare_of(Count i) const { return value(start + i); }

  // The word after n operations.
  constexpr T after(Atomic atomic, Count n) const {
    if (n == 0) return first();
    switch (atomic) {
      case Atomic::kSet:
      case Atomic::kSwap: return value(operand + n - 1);
      case Atomic::kCompareSwap:
      case Atomic::kInc:
      case Atomic::kFetchInc: return value(start + n);
      case Atomic::kAdd:
      case Atomic::kFetchAdd: return value(start + n * operand);
      case Atomic::kAnd:
      case Atomic::kFetchAnd: return value(start & operand);
      case Atomic::kOr:
      case Atomic::kFetchOr: return value(start | operand);
      case Atomic::kXor:
      case Atomic::kFetchXor: return value(n % 2 == 1 ? start ^ operand : start);
      case Atomic::kFetch: return first();
    }
    return first();
  }
};

// Calls f(integral_constant<Atomic>) with the chosen atomic, for types that have it.
template <class T, class F>
auto with_atomic(Atomic atomic, F&& f) {
  using enum Atomic;
#define WEFT_CASE(kind) \
  case kind: return f(std::integral_constant<Atomic, kind>{})
  if constexpr (std::is_integral_v<T>) {
    switch (atomic) {
      WEFT_CASE(kAdd);
      WEFT_CASE(kInc);
      WEFT_CASE(kAnd);
      WEFT_CASE(kOr);
      WEFT_CASE(kXor);
      WEFT_CASE(kCompareSwap);
      WEFT_CASE(kFetchAdd);
      WEFT_CASE(kFetchInc);
      WEFT_CASE(kFetchAnd);
      WEFT_CASE(kFetchOr);
      WEFT_CASE(kFetchXor);
      default: break;
    }
  }
  switch (atomic) {
    WEFT_CASE(kSet);
    WEFT_CASE(kSwap);
    default: break;
  }
  return f(std::integral_constant<Atomic, kFetch>{});
#undef WEFT_CASE
}

}  // namespace weft::perf
