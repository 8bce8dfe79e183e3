/* NVSHMEM 3 for host code only, in C and C++, on Weft. Semantics: NVIDIA's documentation of
 * NVSHMEM; docs/guide/nvshmem.md says what Weft decides where that leaves it open, and what is
 * missing. */
#ifndef WEFT_COMPAT_NVSHMEM_HOST_ONLY_H
#define WEFT_COMPAT_NVSHMEM_HOST_ONLY_H

#include <weft/device/names_push.h>

#include "nvshmem/host.h"

#include <weft/device/names_pop.h>

#endif
