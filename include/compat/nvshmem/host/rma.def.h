/* Put, get and their kin. See routines.def.h. */
#define WEFT_NVSHMEM_TYPE(N, T, ...)                                                          \
  WEFT_NVSHMEM_SCOPED(void, N##_put, (T * dest, const T* source, size_t nelems, int pe), put, \
                      (dest, source, nelems, pe))                                             \
  WEFT_NVSHMEM_SCOPED(void, N##_put_nbi, (T * dest, const T* source, size_t nelems, int pe),  \
                      put_nbi, (dest, source, nelems, pe))                                    \
  WEFT_NVSHMEM_SCOPED(void, N##_get, (T * dest, const T* source, size_t nelems, int pe), get, \
                      (dest, source, nelems, pe))                                             \
  WEFT_NVSHMEM_SCOPED(void, N##_get_nbi, (T * dest, const T* source, size_t nelems, int pe),  \
                      get_nbi, (dest, source, nelems, pe))                                    \
  WEFT_NVSHMEM_BOTH(void, nvshmem_##N##_p, (T * dest, const T value, int pe), p,              \
                    (dest, value, pe))                                                        \
  WEFT_NVSHMEM_BOTH(T, nvshmem_##N##_g, (const T* source, int pe), g, (source, pe))           \
  WEFT_NVSHMEM_SCOPED(                                                                        \
      void, N##_iput,                                                                         \
      (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iput, \
      (dest, source, dst, sst, nelems, pe))                                                   \
  WEFT_NVSHMEM_SCOPED(                                                                        \
      void, N##_iget,                                                                         \
      (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iget, \
      (dest, source, dst, sst, nelems, pe))                                                   \
  WEFT_NVSHMEM_SCOPED(void, N##_put_signal,                                                   \
                      (T * dest, const T* source, size_t nelems, uint64_t* sig_addr,          \
                       uint64_t signal, int sig_op, int pe),                                  \
                      put_signal, (dest, source, nelems, sig_addr, signal, sig_op, pe))       \
  WEFT_NVSHMEM_SCOPED(void, N##_put_signal_nbi,                                               \
                      (T * dest, const T* source, size_t nelems, uint64_t* sig_addr,          \
                       uint64_t signal, int sig_op, int pe),                                  \
                      put_signal_nbi, (dest, source, nelems, sig_addr, signal, sig_op, pe))
#include "types.def.h"

/* Elements of B bits (mem: bytes). */
#define WEFT_NVSHMEM_BLOCKS(S, B)                                                                  \
  WEFT_NVSHMEM_SCOPED(void, put##S, (void* dest, const void* source, size_t nelems, int pe), put,  \
                      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                      \
  WEFT_NVSHMEM_SCOPED(void, put##S##_nbi, (void* dest, const void* source, size_t nelems, int pe), \
                      put_nbi, (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))             \
  WEFT_NVSHMEM_SCOPED(void, get##S, (void* dest, const void* source, size_t nelems, int pe), get,  \
                      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))                      \
  WEFT_NVSHMEM_SCOPED(void, get##S##_nbi, (void* dest, const void* source, size_t nelems, int pe), \
                      get_nbi, (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, pe))             \
  WEFT_NVSHMEM_SCOPED(                                                                             \
      void, put##S##_signal,                                                                       \
      (void* dest, const void* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,         \
       int sig_op, int pe),                                                                        \
      put_signal,                                                                                  \
      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, sig_addr, signal, sig_op, pe))            \
  WEFT_NVSHMEM_SCOPED(                                                                             \
      void, put##S##_signal_nbi,                                                                   \
      (void* dest, const void* source, size_t nelems, uint64_t* sig_addr, uint64_t signal,         \
       int sig_op, int pe),                                                                        \
      put_signal_nbi,                                                                              \
      (WEFT_BITS(B, dest), WEFT_BITS(B, source), nelems, sig_addr, signal, sig_op, pe))
#define WEFT_NVSHMEM_STRIDED(S)                                                                    \
  WEFT_NVSHMEM_SCOPED(                                                                             \
      void, iput##S,                                                                               \
      (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), iput, \
      (WEFT_BITS(S, dest), WEFT_BITS(S, source), dst, sst, nelems, pe))                            \
  WEFT_NVSHMEM_SCOPED(                                                                             \
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

WEFT_NVSHMEM_BOTH(void, nvshmemx_signal_op,
                  (uint64_t * sig_addr, uint64_t signal, int sig_op, int pe), signal_op,
                  (sig_addr, signal, sig_op, pe))

WEFT_NVSHMEM_BOTH(void, nvshmem_fence, (void), fence, ())
WEFT_NVSHMEM_BOTH(void, nvshmem_quiet, (void), quiet, ())
