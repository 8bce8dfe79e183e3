/* NVSHMEM's extensions: nvshmem.h has them, but for collective launches and tiles. */
#ifndef WEFT_COMPAT_NVSHMEMX_H
#define WEFT_COMPAT_NVSHMEMX_H

#include "nvshmem.h"
#include "nvshmem/collective_launch.h"
#if defined(__CUDACC__)
#include <weft/device/names_push.h>

#include "nvshmem/tile.hpp"

#include <weft/device/names_pop.h>
#endif

#endif
