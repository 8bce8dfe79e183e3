/* NVSHMEM 3 for host code and kernels, on Weft. docs/guide/nvshmem.md says what Weft decides where
 * NVIDIA's documentation leaves it open, and what is missing. */
#ifndef WEFT_COMPAT_NVSHMEM_H
#define WEFT_COMPAT_NVSHMEM_H

#include "nvshmem_host.h"
#include "nvshmem/along.h"

#endif
