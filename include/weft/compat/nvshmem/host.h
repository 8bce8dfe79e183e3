/* NVSHMEM's routines as host code calls them. */
#ifndef WEFT_COMPAT_NVSHMEM_HOST_H
#define WEFT_COMPAT_NVSHMEM_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "cuda.h"
#include "types.h"
#ifdef __cplusplus
#include "half.hpp"
#endif

#ifdef __CUDACC__ /* kernels have bodies of their own */
#define WEFT_NVSHMEM_BOTH_SIDES __host__ __device__
#else
#define WEFT_NVSHMEM_BOTH_SIDES
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define WEFT_NVSHMEM_HOST(R, name, params, body, args) R name params;
#define WEFT_NVSHMEM_BOTH(R, name, params, body, args) WEFT_NVSHMEM_BOTH_SIDES R name params;
#include "host/routines.def.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#undef WEFT_NVSHMEM_BOTH_SIDES

#define nvshmem_sync nvshmem_team_sync

#endif
