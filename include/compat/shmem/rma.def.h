/* Put, get and their kin: OpenSHMEM 1.5, 9.5 and 9.8; block-strided: 1.6. See families.def.h. */
#define WEFT_SHMEM_RMA(N, T)                                                                       \
  WEFT_SHMEM_CTX(void, N, put, (T * dest, const T* source, size_t nelems, int pe), put,            \
                 (dest, source, nelems, pe))                                                       \
  WEFT_SHMEM_CTX(void, N, put_nbi, (T * dest, const T* source, size_t nelems, int pe), put_nbi,    \
                 (dest, source, nelems, pe))                                                       \
  WEFT_SHMEM_CTX(void, N, get, (T * dest, const T* source, size_t nelems, int pe), get,            \
                 (dest, source, nelems, pe))                                                       \
  WEFT_SHMEM_CTX(void, N, get_nbi, (T * dest, const T* source, size_t nelems, int pe), get_nbi,    \
                 (dest, source, nelems, pe))                                                       \
  WEFT_SHMEM_CTX(void, N, p, (T * dest, T value, int pe), p, (dest, value, pe))                    \
  WEFT_SHMEM_CTX(T, N, g, (const T* source, int pe), g, (source, pe))                              \
  WEFT_SHMEM_CTX(void, N, iput,                                                                    \
                 (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                 iput, (dest, source, dst, sst, nelems, pe))                                       \
  WEFT_SHMEM_CTX(void, N, iget,                                                                    \
                 (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                 iget, (dest, source, dst, sst, nelems, pe))                                       \
  WEFT_SHMEM_CTX(void, N, ibput,                                                                   \
                 (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,           \
                  size_t nblocks, int pe),                                                         \
                 ibput, (dest, source, dst, sst, bsize, nblocks, pe))                              \
  WEFT_SHMEM_CTX(void, N, ibget,                                                                   \
                 (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,           \
                  size_t nblocks, int pe),                                                         \
                 ibget, (dest, source, dst, sst, bsize, nblocks, pe))                              \
  WEFT_SHMEM_CTX(void, N, put_signal,                                                              \
                 (T * dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,   \
                  int sig_op, int pe),                                                             \
                 put_signal, (dest, source, nelems, sig_addr, signal, sig_op, pe))                 \
  WEFT_SHMEM_CTX(void, N, put_signal_nbi,                                                          \
                 (T * dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,   \
                  int sig_op, int pe),                                                             \
                 put_signal_nbi, (dest, source, nelems, sig_addr, signal, sig_op, pe))

#define WEFT_TYPE(N, T, rma, ...) WEFT_WHEN_##rma(WEFT_SHMEM_RMA(N, T))
#include "types.def.h"
#undef WEFT_SHMEM_RMA

/* Elements of B bits (mem: bytes); only the name and the element differ. */
#define WEFT_SHMEM_BLOCKS(S, B)                                                                 \
  WEFT_SHMEM_SIZED(void, put##S, (void* dest, const void* source, size_t nelems, int pe), put,  \
                   (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                      \
  WEFT_SHMEM_SIZED(void, put##S##_nbi, (void* dest, const void* source, size_t nelems, int pe), \
                   put_nbi, (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))             \
  WEFT_SHMEM_SIZED(void, get##S, (void* dest, const void* source, size_t nelems, int pe), get,  \
                   (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                      \
  WEFT_SHMEM_SIZED(void, get##S##_nbi, (void* dest, const void* source, size_t nelems, int pe), \
                   get_nbi, (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))             \
  WEFT_SHMEM_SIZED(                                                                             \
      void, put##S##_signal,                                                                    \
      (void* dest, const void* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,      \
       int sig_op, int pe),                                                                     \
      put_signal,                                                                               \
      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, sig_addr, signal, sig_op, pe))         \
  WEFT_SHMEM_SIZED(                                                                             \
      void, put##S##_signal_nbi,                                                                \
      (void* dest, const void* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,      \
       int sig_op, int pe),                                                                     \
      put_signal_nbi,                                                                           \
      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, sig_addr, signal, sig_op, pe))
#define WEFT_SHMEM_STRIDED(S)                                                                      \
  WEFT_SHMEM_SIZED(                                                                                \
      void, iput##S,                                                                               \
      (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iput, \
      (WEFT_BITS(S, dest), WEFT_BITS(S, source), dst, sst, nelems, pe))                            \
  WEFT_SHMEM_SIZED(                                                                                \
      void, iget##S,                                                                               \
      (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iget, \
      (WEFT_BITS(S, dest), WEFT_BITS(S, source), dst, sst, nelems, pe))                            \
  WEFT_SHMEM_SIZED(void, ibput##S,                                                                 \
                   (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,    \
                    size_t nblocks, int pe),                                                       \
                   ibput,                                                                          \
                   (WEFT_BITS(S, dest), WEFT_BITS(S, source), dst, sst, bsize, nblocks, pe))       \
  WEFT_SHMEM_SIZED(void, ibget##S,                                                                 \
                   (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,    \
                    size_t nblocks, int pe),                                                       \
                   ibget,                                                                          \
                   (WEFT_BITS(S, dest), WEFT_BITS(S, source), dst, sst, bsize, nblocks, pe))

WEFT_SHMEM_BLOCKS(8, 8)
WEFT_SHMEM_BLOCKS(16, 16)
WEFT_SHMEM_BLOCKS(32, 32)
WEFT_SHMEM_BLOCKS(64, 64)
WEFT_SHMEM_BLOCKS(128, 128)
WEFT_SHMEM_BLOCKS(mem, 8)
WEFT_SHMEM_STRIDED(8)
WEFT_SHMEM_STRIDED(16)
WEFT_SHMEM_STRIDED(32)
WEFT_SHMEM_STRIDED(64)
WEFT_SHMEM_STRIDED(128)
#undef WEFT_SHMEM_BLOCKS
#undef WEFT_SHMEM_STRIDED

/* Signals without data: 1.6. */
WEFT_SHMEM_SIZED(void, signal_set, (uint64_t * sig_addr, uint64_t signal, int pe), signal_set,
                 (sig_addr, signal, pe))
WEFT_SHMEM_SIZED(void, signal_add, (uint64_t * sig_addr, uint64_t signal, int pe), signal_add,
                 (sig_addr, signal, pe))

/* Ordering: 9.10. */
WEFT_SHMEM_ROUTINE(void, shmem_fence, (void), fence, (SHMEM_CTX_DEFAULT))
WEFT_SHMEM_ROUTINE(void, shmem_ctx_fence, (shmem_ctx_t ctx), fence, (ctx))
WEFT_SHMEM_ROUTINE(void, shmem_quiet, (void), quiet, (SHMEM_CTX_DEFAULT))
WEFT_SHMEM_ROUTINE(void, shmem_ctx_quiet, (shmem_ctx_t ctx), quiet, (ctx))
