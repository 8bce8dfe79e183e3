// Matrices of the tests of products: elements of two bytes as bits, with a NaN wherever nothing is
// to be read, and wherever nothing is to be written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <weft/kernels/gemm.hpp>
#include <weft/kernels/types.hpp>
#include <weft/small_float.hpp>

namespace weft::kernels::test {

using Bits = std::vector<std::uint16_t>;
inline constexpr std::uint16_t kPoison = 0xffff;  // a NaN in both types

template <class T>
float widened(std::uint16_t bits) {
  T value;
  value.bits = bits;
  return static_cast<float>(value);
}
inline float value_of(DType dtype, std::uint16_t bits) {
  return dtype == DType::kBfloat16 ? widened<Bfloat16>(bits) : widened<Half>(bits);
}
inline std::uint16_t bits_of(DType dtype, float value) {
  return dtype == DType::kBfloat16 ? Bfloat16(value).bits : Half(value).bits;
}

inline constexpr std::int64_t up8(std::int64_t value) { return (value + 7) / 8 * 8; }

// Rows as random_matrix() makes them: room between them where 8 does not divide the columns.
inline GemmProblem with_strides(GemmProblem p) {
  if (p.lda == 0) p.lda = up8(p.k);
  if (p.ldb == 0) p.ldb = up8(p.k);
  if (p.ldc == 0) p.ldc = up8(p.n);
  return p;
}

// Poison for `rows` rows that are `stride` apart, and for two more and some elements as a canary.
inline Bits poisoned(std::int64_t rows, std::int64_t stride) {
  return Bits(static_cast<std::size_t>((rows + 2) * stride) + 64, kPoison);
}

// Nearly normal, and quickly made: the sum of four uniform numbers.
inline float random_value(std::mt19937_64& random) {
  const std::uint64_t word = random();
  std::int64_t sum = -2 * 0xffff;
  for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>(word >> 16 * i & 0xffff);
  return static_cast<float>(sum) * (1 / 37837.0f);  // 2^16 / sqrt(3): deviation 1
}

// Random elements in poison.
inline Bits random_matrix(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                          std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bits bits = poisoned(rows, stride);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < columns; ++i)
      bits[static_cast<std::size_t>(r * stride + i)] = bits_of(dtype, random_value(random));
  return bits;
}

// Rows [first, first + rows) of `from` in poison, with room for `most`.
inline Bits some_rows(const Bits& from, std::int64_t first, std::int64_t rows, std::int64_t most,
                      std::int64_t stride) {
  Bits some = poisoned(most, stride);
  const auto begin = from.begin() + first * stride;
  std::copy(begin, begin + rows * stride, some.begin());
  return some;
}

}  // namespace weft::kernels::test
