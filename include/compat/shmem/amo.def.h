/* Atomics: OpenSHMEM 1.5, 9.7, and their deprecated names. See families.def.h. */
#define WEFT_SHMEM_AMO(N, T)                                                                       \
  WEFT_SHMEM_CTX(T, N, atomic_compare_swap, (T * dest, T cond, T value, int pe), compare_swap,     \
                 (dest, cond, value, pe))                                                          \
  WEFT_SHMEM_CTX(T, N, atomic_fetch_inc, (T * dest, int pe), fetch_inc, (dest, pe))                \
  WEFT_SHMEM_CTX(void, N, atomic_inc, (T * dest, int pe), inc, (dest, pe))                         \
  WEFT_SHMEM_CTX(T, N, atomic_fetch_add, (T * dest, T value, int pe),                              \
                 fetch_amo<weft::Amo::kFetchAdd>, (dest, value, pe))                               \
  WEFT_SHMEM_CTX(void, N, atomic_add, (T * dest, T value, int pe), amo<weft::Amo::kAdd>,           \
                 (dest, value, pe))                                                                \
  WEFT_SHMEM_CTX(void, N, atomic_compare_swap_nbi, (T * fetch, T * dest, T cond, T value, int pe), \
                 compare_swap_nbi, (fetch, dest, cond, value, pe))                                 \
  WEFT_SHMEM_CTX(void, N, atomic_fetch_inc_nbi, (T * fetch, T * dest, int pe), fetch_inc_nbi,      \
                 (fetch, dest, pe))                                                                \
  WEFT_SHMEM_CTX(void, N, atomic_fetch_add_nbi, (T * fetch, T * dest, T value, int pe),            \
                 fetch_amo_nbi<weft::Amo::kFetchAdd>, (fetch, dest, value, pe))
#define WEFT_SHMEM_XAMO(N, T)                                                                 \
  WEFT_SHMEM_CTX(T, N, atomic_fetch, (const T* source, int pe), fetch, (source, pe))          \
  WEFT_SHMEM_CTX(void, N, atomic_set, (T * dest, T value, int pe), amo<weft::Amo::kSet>,      \
                 (dest, value, pe))                                                           \
  WEFT_SHMEM_CTX(T, N, atomic_swap, (T * dest, T value, int pe), fetch_amo<weft::Amo::kSwap>, \
                 (dest, value, pe))                                                           \
  WEFT_SHMEM_CTX(void, N, atomic_fetch_nbi, (T * fetch, const T* source, int pe), fetch_nbi,  \
                 (fetch, source, pe))                                                         \
  WEFT_SHMEM_CTX(void, N, atomic_swap_nbi, (T * fetch, T * dest, T value, int pe),            \
                 fetch_amo_nbi<weft::Amo::kSwap>, (fetch, dest, value, pe))
#define WEFT_SHMEM_BIT(N, T, op, Kind)                                                       \
  WEFT_SHMEM_CTX(void, N, atomic_##op, (T * dest, T value, int pe), amo<weft::Amo::k##Kind>, \
                 (dest, value, pe))                                                          \
  WEFT_SHMEM_CTX(T, N, atomic_fetch_##op, (T * dest, T value, int pe),                       \
                 fetch_amo<weft::Amo::kFetch##Kind>, (dest, value, pe))                      \
  WEFT_SHMEM_CTX(void, N, atomic_fetch_##op##_nbi, (T * fetch, T * dest, T value, int pe),   \
                 fetch_amo_nbi<weft::Amo::kFetch##Kind>, (fetch, dest, value, pe))

#define WEFT_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old)          \
  WEFT_WHEN_##amo(WEFT_SHMEM_AMO(N, T)) WEFT_WHEN_##xamo(WEFT_SHMEM_XAMO(N, T)) \
      WEFT_WHEN_##bamo(WEFT_EACH_BITWISE(WEFT_SHMEM_BIT, N, T))
#include "types.def.h"
#undef WEFT_SHMEM_AMO
#undef WEFT_SHMEM_XAMO
#undef WEFT_SHMEM_BIT

/* Deprecated: without a context. The standard has them for the types of 1.3 only, other
 * implementations for all. */
#define WEFT_SHMEM_OLD_AMO(N, T)                                                         \
  WEFT_SHMEM_PLAIN(T, N, cswap, (T * dest, T cond, T value, int pe), old_cswap,          \
                   (dest, cond, value, pe))                                              \
  WEFT_SHMEM_PLAIN(T, N, finc, (T * dest, int pe), old_finc, (dest, pe))                 \
  WEFT_SHMEM_PLAIN(void, N, inc, (T * dest, int pe), old_inc, (dest, pe))                \
  WEFT_SHMEM_PLAIN(T, N, fadd, (T * dest, T value, int pe), old_fadd, (dest, value, pe)) \
  WEFT_SHMEM_PLAIN(void, N, add, (T * dest, T value, int pe), old_add, (dest, value, pe))
#define WEFT_SHMEM_OLD_XAMO(N, T)                                                         \
  WEFT_SHMEM_PLAIN(T, N, fetch, (const T* source, int pe), old_fetch, (source, pe))       \
  WEFT_SHMEM_PLAIN(void, N, set, (T * dest, T value, int pe), old_set, (dest, value, pe)) \
  WEFT_SHMEM_PLAIN(T, N, swap, (T * dest, T value, int pe), old_swap, (dest, value, pe))

#define WEFT_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old) \
  WEFT_WHEN_##amo(WEFT_SHMEM_OLD_AMO(N, T)) WEFT_WHEN_##xamo(WEFT_SHMEM_OLD_XAMO(N, T))
#include "types.def.h"
#undef WEFT_SHMEM_OLD_AMO
#undef WEFT_SHMEM_OLD_XAMO
