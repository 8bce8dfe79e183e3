// NVSHMEM's names as the library itself sees them, and how their rows become definitions.
#pragma once

#include <nvshmem_host.h>

#define WEFT_NVSHMEM_DEFINE(R, name, params, body, args)                     \
  extern "C" [[gnu::flatten, gnu::visibility("default")]] R name params {    \
    return weft::nvshmem::body(WEFT_NVSHMEM_ARGS(#name, WEFT_UNPAREN args)); \
  }
#define WEFT_NVSHMEM_ARGS(name, ...) name __VA_OPT__(, ) __VA_ARGS__
