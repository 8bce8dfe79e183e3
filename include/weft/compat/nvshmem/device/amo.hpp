// Atomics, by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/amo.hpp>

#include "../picture.hpp"

namespace weft::nvshmem {
inline namespace WEFT_TARGET {

struct Atomics {
  template <Amo kAmo, class T>
  WEFT_DEVICE static void amo(T* dest, T value, int pe) {
    const dev::Context ctx = context();
    if constexpr (std::is_floating_point_v<T> && kAmo == Amo::kAdd) {
      add_by_swaps(ctx, dest, value, pe);
    } else if constexpr (kAmo == Amo::kSet) {
      ctx.atomic_set(dest, value, pe);
    } else if constexpr (kAmo == Amo::kAdd) {
      ctx.atomic_add(dest, value, pe);
    } else if constexpr (kAmo == Amo::kAnd) {
      ctx.atomic_and(dest, value, pe);
    } else if constexpr (kAmo == Amo::kOr) {
      ctx.atomic_or(dest, value, pe);
    } else {
      static_assert(kAmo == Amo::kXor, "these atomics return nothing");
      ctx.atomic_xor(dest, value, pe);
    }
  }
  template <Amo kAmo, class T>
  WEFT_DEVICE static T fetch_amo(T* dest, T value, int pe) {
    const dev::Context ctx = context();
    if constexpr (std::is_floating_point_v<T> && kAmo == Amo::kFetchAdd) {
      return add_by_swaps(ctx, dest, value, pe);
    } else if constexpr (kAmo == Amo::kSwap) {
      return ctx.atomic_swap(dest, value, pe);
    } else if constexpr (kAmo == Amo::kFetchAdd) {
      return ctx.atomic_fetch_add(dest, value, pe);
    } else if constexpr (kAmo == Amo::kFetchAnd) {
      return ctx.atomic_fetch_and(dest, value, pe);
    } else if constexpr (kAmo == Amo::kFetchOr) {
      return ctx.atomic_fetch_or(dest, value, pe);
    } else {
      static_assert(kAmo == Amo::kFetchXor, "these atomics return the value before");
      return ctx.atomic_fetch_xor(dest, value, pe);
    }
  }
  template <class T>
  WEFT_DEVICE static T fetch(const T* source, int pe) {
    return context().atomic_fetch(source, pe);
  }
  template <class T>
  WEFT_DEVICE static T compare_swap(T* dest, T cond, T value, int pe) {
    return context().atomic_compare_swap(dest, cond, value, pe);
  }
  template <class T>
  WEFT_DEVICE static void inc(T* dest, int pe) {
    context().atomic_inc(dest, pe);
  }
  template <class T>
  WEFT_DEVICE static T fetch_inc(T* dest, int pe) {
    return context().atomic_fetch_inc(dest, pe);
  }

 private:
  // Floats add where nobody came between: what every transport can do.
  template <class T>
  WEFT_DEVICE static T add_by_swaps(const dev::Context& ctx, T* dest, T value, int pe) {
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    auto* word = reinterpret_cast<Word*>(dest);
    Word seen = ctx.atomic_fetch(word, pe);
    while (true) {
      T old;
      memcpy(&old, &seen, sizeof(T));
      const T sum = old + value;
      Word wanted;
      memcpy(&wanted, &sum, sizeof(T));
      const Word found = ctx.atomic_compare_swap(word, seen, wanted, pe);
      if (found == seen) return old;
      seen = found;
    }
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::nvshmem
