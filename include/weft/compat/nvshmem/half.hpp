// half and __nv_bfloat16, which NVSHMEM's names speak of: CUDA's, or, where CUDA's headers are not
// installed, types that only hold them, so that a host compiler still sees every routine.
#pragma once

#include <type_traits>

#include <weft/types.hpp>

#if __has_include(<cuda_fp16.h>) && __has_include(<cuda_bf16.h>)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace weft {

// By function: programs may have switched CUDA's conversions and operators off.
template <>
struct SmallFloat<__half> : std::true_type {
  static WEFT_HOST_DEVICE float widen(__half value) { return __half2float(value); }
  static WEFT_HOST_DEVICE __half narrow(float value) { return __float2half_rn(value); }
};
template <>
struct SmallFloat<__nv_bfloat16> : std::true_type {
  static WEFT_HOST_DEVICE float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
  static WEFT_HOST_DEVICE __nv_bfloat16 narrow(float value) { return __float2bfloat16_rn(value); }
};

}  // namespace weft

#else

#include <cstdint>

struct __half {
  std::uint16_t bits;
};
struct __nv_bfloat16 {
  std::uint16_t bits;
};
using half = __half;

#endif
