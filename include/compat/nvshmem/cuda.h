/* CUDA's types in NVSHMEM's signatures: CUDA's own, or, where its headers are not installed, the
 * pointers that they are. */
#ifndef WEFT_COMPAT_NVSHMEM_CUDA_H
#define WEFT_COMPAT_NVSHMEM_CUDA_H

#if __has_include(<cuda_runtime.h>) && __has_include(<cuda.h>)
#define WEFT_NVSHMEM_HAS_CUDA 1
#include <cuda.h>
#include <cuda_runtime.h>
#else
#define WEFT_NVSHMEM_HAS_CUDA 0
typedef struct CUstream_st* cudaStream_t;
typedef struct CUmod_st* CUmodule;
typedef struct CUlib_st* CUlibrary;
#endif

#endif
