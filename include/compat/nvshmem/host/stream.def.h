/* The operations that hosts queue on streams: the scoped rows of families, and a few more. See
 * routines.def.h. */
#define WEFT_NVSHMEM_QUEUED(R, stem, params, body, args)                                       \
  WEFT_NVSHMEM_HOST(R, nvshmemx_##stem##_on_stream, (WEFT_UNPAREN params, cudaStream_t cstrm), \
                    body, (cstrm, WEFT_UNPAREN args))

#undef WEFT_NVSHMEM_BOTH
#undef WEFT_NVSHMEM_SCOPED
#define WEFT_NVSHMEM_BOTH(...)
#define WEFT_NVSHMEM_SCOPED WEFT_NVSHMEM_QUEUED
#include "rma.def.h"
#include "collective.def.h"

#define WEFT_NVSHMEM_TYPE(N, T, ...)                                                        \
  WEFT_NVSHMEM_QUEUED(void, N##_p, (T * dest, const T value, int pe), p, (dest, value, pe)) \
  WEFT_NVSHMEM_QUEUED(T, N##_g, (const T* source, int pe), g, (source, pe))
#include "types.def.h"
WEFT_NVSHMEM_QUEUED(void, signal_op, (uint64_t * sig_addr, uint64_t signal, int sig_op, int pe),
                    signal_op, (sig_addr, signal, sig_op, pe))
WEFT_NVSHMEM_HOST(void, nvshmemx_quiet_on_stream, (cudaStream_t cstrm), quiet, (cstrm))

/* Waits. */
#define WEFT_NVSHMEM_WAIT(N, T)                                                              \
  WEFT_NVSHMEM_QUEUED(void, N##_wait_until, (T * ivar, int cmp, T cmp_value), wait_until,    \
                      (ivar, cmp, cmp_value))                                                \
  WEFT_NVSHMEM_QUEUED(void, N##_wait_until_all,                                              \
                      (T * ivars, size_t nelems, const int* status, int cmp, T cmp_value),   \
                      wait_until_all, (ivars, nelems, status, cmp, cmp_value))               \
  WEFT_NVSHMEM_QUEUED(void, N##_wait_until_all_vector,                                       \
                      (T * ivars, size_t nelems, const int* status, int cmp, T* cmp_values), \
                      wait_until_all_vector, (ivars, nelems, status, cmp, cmp_values))
#define WEFT_NVSHMEM_TYPE(N, T, rma, amo, ...) WEFT_WHEN_##amo(WEFT_NVSHMEM_WAIT(N, T))
#include "types.def.h"
WEFT_NVSHMEM_WAIT(short, short)
WEFT_NVSHMEM_WAIT(ushort, unsigned short)
#undef WEFT_NVSHMEM_WAIT
WEFT_NVSHMEM_QUEUED(void, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value),
                    wait_until, (sig_addr, cmp, cmp_value))

/* Where the members of teams meet. */
WEFT_NVSHMEM_QUEUED(int, team_sync, (nvshmem_team_t team), team_sync, (team))
WEFT_NVSHMEM_HOST(void, nvshmemx_sync_all_on_stream, (cudaStream_t cstrm), sync_all, (cstrm))
WEFT_NVSHMEM_QUEUED(int, barrier, (nvshmem_team_t team), barrier, (team))
WEFT_NVSHMEM_HOST(void, nvshmemx_barrier_all_on_stream, (cudaStream_t cstrm), barrier_all, (cstrm))
#undef WEFT_NVSHMEM_QUEUED
