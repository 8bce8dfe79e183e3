// The types of elements that the operators of weft::kernels compute with.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/target.hpp>

namespace weft::kernels {

// Type of an operator's elements. Sums, minima and maxima of floats of two bytes are formed as
// float and rounded once. Elements that are only moved may be of any type of that size: kUint8
// moves bytes. kFloat8E4m3 is OCP's E4M3, without infinities: it is moved, and multiplied by Gemm;
// no sums of it.
enum class DType : std::uint8_t { kFloat32, kFloat16, kBfloat16, kInt32, kUint8, kFloat8E4m3 };

inline constexpr int kDTypes = 6;

// Bytes of one element; 0: no such type.
WEFT_API std::size_t bytes_of(DType dtype);
// "float32", "float16", ...
WEFT_API const char* to_string(DType dtype);

}  // namespace weft::kernels
