// The values of floats of two bytes, and the one that is nearest to a number: by arithmetic, where
// the library goes by bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <weft/small_float.hpp>

namespace weft::numbers {

template <class T>
struct Shape;
template <>
struct Shape<Half> {
  static constexpr int kFraction = 10, kBias = 15;
};
template <>
struct Shape<Bfloat16> {
  static constexpr int kFraction = 7, kBias = 127;
};

template <class T>
T of_bits(unsigned bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

template <class T>
inline constexpr unsigned kInfinityBits = 0x7fffu >> Shape<T>::kFraction << Shape<T>::kFraction;

template <class T>
double value_of(T value) {
  constexpr int kFraction = Shape<T>::kFraction;
  const unsigned size = value.bits & 0x7fffu;
  const double sign = value.bits >> 15 != 0 ? -1 : 1;
  if (size > kInfinityBits<T>) return std::numeric_limits<double>::quiet_NaN();
  if (size == kInfinityBits<T>) return sign * std::numeric_limits<double>::infinity();
  const int exponent = static_cast<int>(size >> kFraction);
  const int fraction = static_cast<int>(size) - (exponent << kFraction);
  const int steps = fraction + (exponent != 0 ? 1 << kFraction : 0);
  return sign * std::ldexp(steps, std::max(exponent, 1) - Shape<T>::kBias - kFraction);
}

// Ties go to the even one; what lies half a step above the largest is infinite.
template <class T>
T nearest(double value) {
  constexpr int kFraction = Shape<T>::kFraction, kBias = Shape<T>::kBias;
  const unsigned sign = std::signbit(value) ? 0x8000u : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return of_bits<T>(sign | kInfinityBits<T> | 1u << (kFraction - 1));
  if (size == 0) return of_bits<T>(sign);
  if (size >= std::ldexp(1, kBias + 1)) return of_bits<T>(sign | kInfinityBits<T>);
  const int least = std::max(std::ilogb(size), 1 - kBias) - kFraction;  // the last bit: 2^least
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, -least)));
  const int bits = ((least + kFraction + kBias - 1) << kFraction) + steps;
  return of_bits<T>(sign | static_cast<unsigned>(bits));
}

// The same bits, or two NaNs.
template <class T>
bool is_same_float(T a, T b) {
  return a.bits == b.bits || (std::isnan(value_of(a)) && std::isnan(value_of(b)));
}

}  // namespace weft::numbers
