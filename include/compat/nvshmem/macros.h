/* NVSHMEM's host/nvshmem_macros.h: what its prototypes begin with. */
#ifndef WEFT_COMPAT_NVSHMEM_MACROS_H
#define WEFT_COMPAT_NVSHMEM_MACROS_H

#include "cuda.h"

#ifdef __CUDACC__
#define NVSHMEMI_HOSTDEVICE_PREFIX __host__ __device__
#else
#define NVSHMEMI_HOSTDEVICE_PREFIX
#endif

#endif
