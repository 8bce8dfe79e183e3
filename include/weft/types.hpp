// Which C++ types each family of calls takes. Traits, not concepts: users' kernels may be C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/small_float.hpp>
#include <weft/target.hpp>

namespace weft {

// put and get move any trivially copyable object.
template <class T>
inline constexpr bool is_rma_type = std::is_trivially_copyable_v<T>;

// add, inc, fetch_add, fetch_inc, compare_swap.
template <class T>
inline constexpr bool is_amo_type =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8);

// set, fetch, swap.
template <class T>
inline constexpr bool is_xamo_type =
    is_amo_type<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

// and, or, xor as atomics.
template <class T>
inline constexpr bool is_bitwise_amo_type = is_amo_type<T>;

// and, or, xor as reductions.
template <class T>
inline constexpr bool is_bitwise_type = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// min, max, sum, prod as reductions and scans.
template <class T>
inline constexpr bool is_reduce_type =
    (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || SmallFloat<T>::value;

// wait and test: whole words that hardware loads at once.
template <class T>
inline constexpr bool is_wait_type = std::is_arithmetic_v<T> && sizeof(T) <= 8 &&
                                     !std::is_same_v<T, bool> && !std::is_same_v<T, long double>;

inline constexpr std::size_t kTooManyBytes = ~std::size_t{0};

// The only multiplication of a count by a size; kTooManyBytes when it does not fit, which every
// range check refuses.
template <class T>
WEFT_HOST_DEVICE constexpr std::size_t bytes_of(std::size_t count) {
  return count > kTooManyBytes / sizeof(T) ? kTooManyBytes : count * sizeof(T);
}

}  // namespace weft
