// shmem.h as the library itself sees it, and how its rows become definitions.
#pragma once

#define WEFT_SHMEM_C_NAMES
#include <shmem.h>

// pshmem_x is the routine, shmem_x a weak second name of it: a tool may define shmem_x and call on.
#define WEFT_SHMEM_DEFINE(R, name, params, body, args)                       \
  extern "C" [[gnu::flatten, gnu::visibility("default")]] R p##name params { \
    return weft::shmem::body(WEFT_SHMEM_ARGS(#name, WEFT_UNPAREN args));     \
  }                                                                          \
  extern "C" [[gnu::weak, gnu::alias("p" #name), gnu::visibility("default")]] R name params;
#define WEFT_SHMEM_ARGS(name, ...) name __VA_OPT__(, ) __VA_ARGS__
