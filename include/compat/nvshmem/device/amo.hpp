// Atomics, by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/amo.hpp>

#include "../module_state.hpp"

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
      return fetch_relaxed(
          ctx, "atomic_fetch_add", OpKind::kAmoFetchAdd, dest, value, pe, [=](T* word) {
            return dev::platform::fetch_add<dev::Order::kRelaxed, dev::Reach::kSystem>(word, value);
          });
    } else if constexpr (kAmo == Amo::kFetchAnd) {
      return fetch_relaxed(
          ctx, "atomic_fetch_and", OpKind::kAmoFetchAnd, dest, value, pe, [=](T* word) {
            return dev::platform::fetch_and<dev::Order::kRelaxed, dev::Reach::kSystem>(word, value);
          });
    } else if constexpr (kAmo == Amo::kFetchOr) {
      return fetch_relaxed(
          ctx, "atomic_fetch_or", OpKind::kAmoFetchOr, dest, value, pe, [=](T* word) {
            return dev::platform::fetch_or<dev::Order::kRelaxed, dev::Reach::kSystem>(word, value);
          });
    } else {
      static_assert(kAmo == Amo::kFetchXor, "these atomics return the value before");
      return fetch_relaxed(
          ctx, "atomic_fetch_xor", OpKind::kAmoFetchXor, dest, value, pe, [=](T* word) {
            return dev::platform::fetch_xor<dev::Order::kRelaxed, dev::Reach::kSystem>(word, value);
          });
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
    return fetch_amo<Amo::kFetchAdd>(dest, T{1}, pe);
  }

 private:
  // NVSHMEM makes these atomics without an order, and so does Weft: where nobody looks at the
  // result, the assembler then asks for none (RED instead of ATOM). The atomics that locks are made
  // of (fetch, swap, compare_swap) acquire, as all of weft::dev do.
  template <class T, class Apply>
  WEFT_DEVICE static T fetch_relaxed(const dev::Context& ctx, const char* where, OpKind kind,
                                     T* dest, T value, int pe, Apply apply) {
    static_assert(is_amo_type<T>, "these atomics take 4- and 8-byte integers");
    return dev::amo::fetch(ctx.handle(), where, kind, dest, value, T{}, pe, apply);
  }

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
