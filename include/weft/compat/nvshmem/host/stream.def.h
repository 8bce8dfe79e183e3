/* What hosts queue on streams. See routines.def.h. */
#define WEFT_NVSHMEM_QUEUED(R, stem, params, body, args)                                       \
  WEFT_NVSHMEM_HOST(R, nvshmemx_##stem##_on_stream, (WEFT_UNPAREN params, cudaStream_t cstrm), \
                    body, (cstrm, WEFT_UNPAREN args))

#define WEFT_NVSHMEM_TYPE(N, T, ...)                                                              \
  WEFT_NVSHMEM_QUEUED(void, N##_put, (T * dest, const T* source, size_t nelems, int pe), put,     \
                      (dest, source, nelems, pe))                                                 \
  WEFT_NVSHMEM_QUEUED(void, N##_put_nbi, (T * dest, const T* source, size_t nelems, int pe), put, \
                      (dest, source, nelems, pe))                                                 \
  WEFT_NVSHMEM_QUEUED(void, N##_get, (T * dest, const T* source, size_t nelems, int pe), get,     \
                      (dest, source, nelems, pe))                                                 \
  WEFT_NVSHMEM_QUEUED(void, N##_get_nbi, (T * dest, const T* source, size_t nelems, int pe), get, \
                      (dest, source, nelems, pe))                                                 \
  WEFT_NVSHMEM_QUEUED(void, N##_p, (T * dest, const T value, int pe), p, (dest, value, pe))       \
  WEFT_NVSHMEM_QUEUED(T, N##_g, (const T* source, int pe), g, (source, pe))                       \
  WEFT_NVSHMEM_QUEUED(                                                                            \
      void, N##_iput,                                                                             \
      (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iput,     \
      (dest, source, dst, sst, nelems, pe))                                                       \
  WEFT_NVSHMEM_QUEUED(                                                                            \
      void, N##_iget,                                                                             \
      (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iget,     \
      (dest, source, dst, sst, nelems, pe))                                                       \
  WEFT_NVSHMEM_QUEUED(void, N##_put_signal,                                                       \
                      (T * dest, const T* source, size_t nelems, uint64_t* sig_addr,              \
                       uint64_t signal, int sig_op, int pe),                                      \
                      put_signal, (dest, source, nelems, sig_addr, signal, sig_op, pe))           \
  WEFT_NVSHMEM_QUEUED(void, N##_put_signal_nbi,                                                   \
                      (T * dest, const T* source, size_t nelems, uint64_t* sig_addr,              \
                       uint64_t signal, int sig_op, int pe),                                      \
                      put_signal, (dest, source, nelems, sig_addr, signal, sig_op, pe))           \
  WEFT_NVSHMEM_QUEUED(                                                                            \
      int, N##_broadcast,                                                                         \
      (nvshmem_team_t team, T * dest, const T* source, size_t nelems, int PE_root), broadcast,    \
      (team, dest, source, nelems, PE_root))                                                      \
  WEFT_NVSHMEM_QUEUED(int, N##_fcollect,                                                          \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nelems), fcollect,  \
                      (team, dest, source, nelems))                                               \
  WEFT_NVSHMEM_QUEUED(int, N##_alltoall,                                                          \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nelems), alltoall,  \
                      (team, dest, source, nelems))
#include "types.def.h"

/* Elements of B bits (mem: bytes). */
#define WEFT_NVSHMEM_BLOCKS(S, B)                                                                  \
  WEFT_NVSHMEM_QUEUED(void, put##S, (void* dest, const void* source, size_t nelems, int pe), put,  \
                      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                      \
  WEFT_NVSHMEM_QUEUED(void, put##S##_nbi, (void* dest, const void* source, size_t nelems, int pe), \
                      put, (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                 \
  WEFT_NVSHMEM_QUEUED(void, get##S, (void* dest, const void* source, size_t nelems, int pe), get,  \
                      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                      \
  WEFT_NVSHMEM_QUEUED(void, get##S##_nbi, (void* dest, const void* source, size_t nelems, int pe), \
                      get, (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                 \
  WEFT_NVSHMEM_QUEUED(                                                                             \
      void, put##S##_signal,                                                                       \
      (void* dest, const void* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,         \
       int sig_op, int pe),                                                                        \
      put_signal,                                                                                  \
      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, sig_addr, signal, sig_op, pe))            \
  WEFT_NVSHMEM_QUEUED(                                                                             \
      void, put##S##_signal_nbi,                                                                   \
      (void* dest, const void* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,         \
       int sig_op, int pe),                                                                        \
      put_signal,                                                                                  \
      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, sig_addr, signal, sig_op, pe))
#define WEFT_NVSHMEM_STRIDED(S)                                                                    \
  WEFT_NVSHMEM_QUEUED(                                                                             \
      void, iput##S,                                                                               \
      (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iput, \
      (WEFT_BITS(S, dest), WEFT_BITS(S, source), dst, sst, nelems, pe))                            \
  WEFT_NVSHMEM_QUEUED(                                                                             \
      void, iget##S,                                                                               \
      (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iget, \
      (WEFT_BITS(S, dest), WEFT_BITS(S, source), dst, sst, nelems, pe))
WEFT_NVSHMEM_BLOCKS(8, 8)
WEFT_NVSHMEM_BLOCKS(16, 16)
WEFT_NVSHMEM_BLOCKS(32, 32)
WEFT_NVSHMEM_BLOCKS(64, 64)
WEFT_NVSHMEM_BLOCKS(128, 128)
WEFT_NVSHMEM_BLOCKS(mem, 8)
WEFT_NVSHMEM_STRIDED(8)
WEFT_NVSHMEM_STRIDED(16)
WEFT_NVSHMEM_STRIDED(32)
WEFT_NVSHMEM_STRIDED(64)
WEFT_NVSHMEM_STRIDED(128)
#undef WEFT_NVSHMEM_BLOCKS
#undef WEFT_NVSHMEM_STRIDED

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

/* Collectives. */
WEFT_NVSHMEM_QUEUED(int, team_sync, (nvshmem_team_t team), team_sync, (team))
WEFT_NVSHMEM_HOST(void, nvshmemx_sync_all_on_stream, (cudaStream_t cstrm), sync_all, (cstrm))
WEFT_NVSHMEM_QUEUED(int, barrier, (nvshmem_team_t team), barrier, (team))
WEFT_NVSHMEM_HOST(void, nvshmemx_barrier_all_on_stream, (cudaStream_t cstrm), barrier_all, (cstrm))
WEFT_NVSHMEM_QUEUED(int, broadcastmem,
                    (nvshmem_team_t team, void* dest, const void* source, size_t nelems,
                     int PE_root),
                    broadcast, (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems, PE_root))
WEFT_NVSHMEM_QUEUED(int, fcollectmem,
                    (nvshmem_team_t team, void* dest, const void* source, size_t nelems), fcollect,
                    (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems))
WEFT_NVSHMEM_QUEUED(int, alltoallmem,
                    (nvshmem_team_t team, void* dest, const void* source, size_t nelems), alltoall,
                    (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems))
#define WEFT_NVSHMEM_REDUCE(N, T, op, Kind)                                             \
  WEFT_NVSHMEM_QUEUED(int, N##_##op##_reduce,                                           \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nreduce), \
                      reduce<weft::ReduceOp::k##Kind>, (team, dest, source, nreduce))   \
  WEFT_NVSHMEM_QUEUED(int, N##_##op##_reducescatter,                                    \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nreduce), \
                      reducescatter<weft::ReduceOp::k##Kind>, (team, dest, source, nreduce))
#define WEFT_NVSHMEM_ARITH(N, T)      \
  WEFT_NVSHMEM_REDUCE(N, T, sum, Sum) \
  WEFT_NVSHMEM_REDUCE(N, T, prod, Prod)
#define WEFT_NVSHMEM_ORDER(N, T)      \
  WEFT_NVSHMEM_REDUCE(N, T, min, Min) \
  WEFT_NVSHMEM_REDUCE(N, T, max, Max)
#define WEFT_NVSHMEM_LOGIC(N, T)      \
  WEFT_NVSHMEM_REDUCE(N, T, and, And) \
  WEFT_NVSHMEM_REDUCE(N, T, or, Or)   \
  WEFT_NVSHMEM_REDUCE(N, T, xor, Xor)
#define WEFT_NVSHMEM_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old)           \
  WEFT_WHEN_##bits(WEFT_NVSHMEM_LOGIC(N, T)) WEFT_WHEN_##order(WEFT_NVSHMEM_ORDER(N, T)) \
      WEFT_WHEN_##arith(WEFT_NVSHMEM_ARITH(N, T))
#include "types.def.h"
#undef WEFT_NVSHMEM_REDUCE
#undef WEFT_NVSHMEM_ARITH
#undef WEFT_NVSHMEM_ORDER
#undef WEFT_NVSHMEM_LOGIC
#undef WEFT_NVSHMEM_QUEUED
