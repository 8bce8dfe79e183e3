// half, __nv_bfloat16 and double2, which NVSHMEM's names speak of: CUDA's, or, where CUDA's headers
// are not installed, types that only hold them, so that a host compiler still sees every routine.
#pragma once

#if __has_include(<cuda_fp16.h>) && __has_include(<cuda_bf16.h>)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#else

#include <cstdint>

struct __half {
  std::uint16_t bits;
};
struct __nv_bfloat16 {
  std::uint16_t bits;
};
using half = __half;
struct double2 {
  double x, y;
};

#endif
