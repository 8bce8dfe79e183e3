// Floats of two bytes: half (IEEE 754 binary16) and bfloat16 (the upper half of a float). They are
// moved like any type; reductions and scans compute with them as float and round the result to
// nearest, ties to even, after each step.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/target.hpp>

// CUDA's, which are known here by name only.
struct __half;
struct __nv_bfloat16;

namespace weft {

// Conversions are exact in both directions where the value has a place in both types. A value too
// large for the smaller one becomes infinite; a NaN stays one, though its bits may change.
struct Half {
  std::uint16_t bits;

  Half() = default;
  WEFT_HOST_DEVICE explicit Half(float value);
  WEFT_HOST_DEVICE explicit operator float() const;
};

struct Bfloat16 {
  std::uint16_t bits;

  Bfloat16() = default;
  WEFT_HOST_DEVICE explicit Bfloat16(float value);
  WEFT_HOST_DEVICE explicit operator float() const;
};

// Whether T is such a float. A type of your own with the same bits becomes one by
//   template <> struct weft::SmallFloat<MyHalf> : weft::SmallFloatAs<MyHalf, weft::Half> {};
template <class T>
struct SmallFloat : std::false_type {};

template <class T, class Stored>
struct SmallFloatAs : std::true_type {
  using Format = Stored;  // Half or Bfloat16
  static WEFT_HOST_DEVICE float widen(T value);
  static WEFT_HOST_DEVICE T narrow(float value);
};

template <>
struct SmallFloat<Half> : SmallFloatAs<Half, Half> {};
template <>
struct SmallFloat<Bfloat16> : SmallFloatAs<Bfloat16, Bfloat16> {};
template <>
struct SmallFloat<__half> : SmallFloatAs<__half, Half> {};
template <>
struct SmallFloat<__nv_bfloat16> : SmallFloatAs<__nv_bfloat16, Bfloat16> {};

namespace detail {

template <class To, class From>
WEFT_HOST_DEVICE To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To>,
                "a float of two bytes has the bits of weft::Half or weft::Bfloat16");
  To to;
#if WEFT_TARGET_HIP  // where std::memcpy is the host's
  __builtin_memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof(to));
#else
  std::memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof(to));
#endif
  return to;
}

// Without branches, so that loops over them become vector instructions.
inline constexpr std::uint32_t kInfinity = 0x7f800000;         // as bits of a float, all of these
inline constexpr std::uint32_t kHalfOverflow = 143u << 23;     // 65536
inline constexpr std::uint32_t kHalfLeastNormal = 113u << 23;  // 2^-14
inline constexpr std::uint32_t kOneHalf = 126u << 23;          // its last bit is worth 2^-24
inline constexpr std::uint32_t kHalfBiasDifference = 112u << 23;

WEFT_HOST_DEVICE float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t rest = std::uint32_t{bits & 0x7fffu} << 13;
  const std::uint32_t normal = rest + kHalfBiasDifference;
  // Its bits as the fraction of 2^-14, which then goes away: no subnormal of float is touched.
  const float small = bits_as<float>(rest + kHalfLeastNormal) - bits_as<float>(kHalfLeastNormal);
  std::uint32_t wide = rest < (1u << 23) ? bits_as<std::uint32_t>(small) : normal;
  wide = rest >= (31u << 23) ? rest | kInfinity : wide;
  return bits_as<float>(sign | wide);
}

WEFT_HOST_DEVICE std::uint16_t float_to_half(float value) {
  const auto all = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = all >> 16 & 0x8000u;
  const std::uint32_t size = all & 0x7fffffffu;
  // Half of what is cut off, less one if the last bit that stays is even. May carry into infinity.
  const std::uint32_t normal = (size - kHalfBiasDifference + 0xfffu + (size >> 13 & 1u)) >> 13;
  // In the sum a step of the last bit is one of half's subnormals, so the addition rounds.
  const std::uint32_t small =
      bits_as<std::uint32_t>(bits_as<float>(size) + bits_as<float>(kOneHalf)) - kOneHalf;
  std::uint32_t narrow = size < kHalfLeastNormal ? small : normal;
  narrow = size >= kHalfOverflow ? 0x7c00u : narrow;
  narrow = size > kInfinity ? 0x7e00u : narrow;
  return static_cast<std::uint16_t>(sign | narrow);
}

}  // namespace detail

WEFT_HOST_DEVICE Half::Half(float value) {
#if defined(__CUDA_ARCH__)
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#elif defined(__HIP_DEVICE_COMPILE__)
  bits = detail::bits_as<std::uint16_t>(static_cast<_Float16>(value));
#else
  bits = detail::float_to_half(value);
#endif
}

WEFT_HOST_DEVICE Half::operator float() const {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#elif defined(__HIP_DEVICE_COMPILE__)
  return static_cast<float>(detail::bits_as<_Float16>(bits));
#else
  return detail::half_to_float(bits);
#endif
}

WEFT_HOST_DEVICE Bfloat16::Bfloat16(float value) {
  const auto all = detail::bits_as<std::uint32_t>(value);
  const std::uint32_t rounded = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
  const bool is_nan = (all & 0x7fffffffu) > detail::kInfinity;
  bits = static_cast<std::uint16_t>(is_nan ? all >> 16 | 0x40u : rounded);
}

WEFT_HOST_DEVICE Bfloat16::operator float() const {
  return detail::bits_as<float>(std::uint32_t{bits} << 16);
}

template <class T, class Stored>
WEFT_HOST_DEVICE float SmallFloatAs<T, Stored>::widen(T value) {
  return static_cast<float>(detail::bits_as<Stored>(value));
}
template <class T, class Stored>
WEFT_HOST_DEVICE T SmallFloatAs<T, Stored>::narrow(float value) {
  return detail::bits_as<T>(Stored(value));
}

}  // namespace weft
