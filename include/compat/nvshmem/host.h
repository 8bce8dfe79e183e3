/* NVSHMEM's routines as host code calls them. */
#ifndef WEFT_COMPAT_NVSHMEM_HOST_H
#define WEFT_COMPAT_NVSHMEM_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "cuda.h"
#include "error.h"
#include "macros.h"
#include "types.h"
#ifdef __cplusplus
#include "half.hpp"
#endif

/* nvcc reads a unit for the host, where kernels may name what both sides have, and for each GPU,
 * where device.hpp has bodies for it. */
#if defined(__CUDA_ARCH__)
#define WEFT_NVSHMEM_PROTOTYPE(R, name, params)
#elif defined(__CUDACC__)
#define WEFT_NVSHMEM_PROTOTYPE(R, name, params) __host__ __device__ R name params;
#else
#define WEFT_NVSHMEM_PROTOTYPE(R, name, params) R name params;
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define WEFT_NVSHMEM_HOST(R, name, params, body, args) R name params;
#define WEFT_NVSHMEM_BOTH(R, name, params, body, args) WEFT_NVSHMEM_PROTOTYPE(R, name, params)
#include "host/routines.def.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#undef WEFT_NVSHMEM_PROTOTYPE

#ifdef __CUDACC__
#include "device.hpp"
#endif

#define nvshmem_sync nvshmem_team_sync

#endif
