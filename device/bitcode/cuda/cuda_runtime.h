// Stands in for CUDA's header of this name while clang makes the bitcode library: as much of the
// language as weft/dev/platform/cuda.hpp uses, from clang's builtins, so that no toolkit is needed.
// Included before everything else, as nvcc does with CUDA's.
#pragma once

#include <stddef.h>

#define __CUDACC__ 1
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))

struct dim3;
struct uint3;
#include <__clang_cuda_builtin_vars.h>

#define WEFT_BUILTIN static inline __attribute__((device, always_inline))

WEFT_BUILTIN void __syncwarp(unsigned mask) { __nvvm_bar_warp_sync(mask); }
WEFT_BUILTIN int __syncthreads_and(int mine) { return __nvvm_bar0_and(mine); }
WEFT_BUILTIN int __all_sync(unsigned mask, int mine) { return __nvvm_vote_all_sync(mask, mine); }
WEFT_BUILTIN unsigned __shfl_sync(unsigned mask, unsigned value, int lane) {
  return static_cast<unsigned>(__nvvm_shfl_sync_idx_i32(mask, static_cast<int>(value), lane, 0x1f));
}
WEFT_BUILTIN void __nanosleep(unsigned ns) { __nvvm_nanosleep(ns); }
WEFT_BUILTIN void __trap() { __builtin_trap(); }
WEFT_BUILTIN void* memcpy(void* dst, const void* src, size_t bytes) {
  return __builtin_memcpy(dst, src, bytes);
}

#undef WEFT_BUILTIN
