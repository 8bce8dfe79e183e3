/* Extensions of OpenSHMEM: under the names that other implementations had for them, what has become
 * part of 1.6. Weft's own interface is <weft/weft.hpp>. */
#ifndef WEFT_COMPAT_SHMEMX_H
#define WEFT_COMPAT_SHMEMX_H

#include "shmem.h"

#define shmemx_query_initialized shmem_query_initialized
#define shmemx_team_ptr shmem_team_ptr
#define shmemx_ctx_session_start shmem_ctx_session_start
#define shmemx_ctx_session_stop shmem_ctx_session_stop
#define shmemx_signal_set shmem_signal_set
#define shmemx_signal_add shmem_signal_add
#define shmemx_ctx_signal_set shmem_ctx_signal_set
#define shmemx_ctx_signal_add shmem_ctx_signal_add

/* Strided blocks and scans, of every type: shmemx_long_ibput, shmemx_int_sum_inscan. */
#define WEFT_SHMEMX_BLOCKS(N, T, F)                                                           \
  static inline void shmemx_##N##_##F(T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, \
                                      size_t bsize, size_t nblocks, int pe) {                 \
    shmem_##N##_##F(dest, source, dst, sst, bsize, nblocks, pe);                              \
  }                                                                                           \
  static inline void shmemx_ctx_##N##_##F(shmem_ctx_t ctx, T* dest, const T* source,          \
                                          ptrdiff_t dst, ptrdiff_t sst, size_t bsize,         \
                                          size_t nblocks, int pe) {                           \
    shmem_ctx_##N##_##F(ctx, dest, source, dst, sst, bsize, nblocks, pe);                     \
  }
#define WEFT_SHMEMX_SCAN(N, T, F)                                                                  \
  static inline int shmemx_##N##_##F(shmem_team_t team, T* dest, const T* source, size_t nelems) { \
    return shmem_##N##_##F(team, dest, source, nelems);                                            \
  }
#define WEFT_SHMEMX_SCANS(N, T)      \
  WEFT_SHMEMX_SCAN(N, T, sum_inscan) \
  WEFT_SHMEMX_SCAN(N, T, sum_exscan)
#define WEFT_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old)             \
  WEFT_WHEN_##rma(WEFT_SHMEMX_BLOCKS(N, T, ibput) WEFT_SHMEMX_BLOCKS(N, T, ibget)) \
      WEFT_WHEN_##arith(WEFT_SHMEMX_SCANS(N, T))
#include "shmem/types.def.h"
WEFT_SHMEMX_SCANS(complexf, WEFT_SHMEM_COMPLEX(float))
WEFT_SHMEMX_SCANS(complexd, WEFT_SHMEM_COMPLEX(double))
#ifdef WEFT_COMPAT_SHMEM_OVERLOADS_H
WEFT_SHMEMX_SCANS(complexf, weft_shmem_complexf)
WEFT_SHMEMX_SCANS(complexd, weft_shmem_complexd)
#endif
#undef WEFT_SHMEMX_BLOCKS
#undef WEFT_SHMEMX_SCAN
#undef WEFT_SHMEMX_SCANS

#endif
