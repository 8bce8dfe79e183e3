/* Headers that NVSHMEM's own nvshmem.h includes besides, and its programs count on. */
#ifndef WEFT_COMPAT_NVSHMEM_ALONG_H
#define WEFT_COMPAT_NVSHMEM_ALONG_H

#include <assert.h>
#include <unistd.h>

#ifdef __CUDACC__
#include <chrono>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;
#endif

#endif
