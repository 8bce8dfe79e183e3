// float8 e4m3 (OCP 8-bit floating point, "E4M3"): a sign, four bits of exponent with bias 7, three
// of fraction. No infinities; 0x7f and 0xff are NaN, 448 is the largest.
#pragma once

#include <cstdint>
#include <limits>

namespace weft::kernels::gemm {

struct E4m3 {
  std::uint8_t bits;

  explicit operator float() const {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
    float size = static_cast<float>(exponent == 0 ? fraction : 8 + fraction) * 0x1p-9f;
    if (exponent > 1) size *= static_cast<float>(1 << (exponent - 1));
    return (bits & 0x80) != 0 ? -size : size;
  }
};

// Elements that share a scale: along k, for each row of A; along n and k, for B.
inline constexpr int kScaled = 128;

}  // namespace weft::kernels::gemm
