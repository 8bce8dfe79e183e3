/* NVSHMEM's extensions: nvshmem.h has them, but for collective launches. */
#ifndef WEFT_COMPAT_NVSHMEMX_H
#define WEFT_COMPAT_NVSHMEMX_H

#include "nvshmem.h"
#include "nvshmem/collective_launch.h"

#endif
