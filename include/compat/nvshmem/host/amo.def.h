/* Atomics. See routines.def.h. */
#define WEFT_NVSHMEM_AMO(N, T)                                                                    \
  WEFT_NVSHMEM_BOTH(T, nvshmem_##N##_atomic_compare_swap, (T * dest, T cond, T value, int pe),    \
                    compare_swap, (dest, cond, value, pe))                                        \
  WEFT_NVSHMEM_BOTH(T, nvshmem_##N##_atomic_fetch_inc, (T * dest, int pe), fetch_inc, (dest, pe)) \
  WEFT_NVSHMEM_BOTH(void, nvshmem_##N##_atomic_inc, (T * dest, int pe), inc, (dest, pe))          \
  WEFT_NVSHMEM_BOTH(T, nvshmem_##N##_atomic_fetch_add, (T * dest, T value, int pe),               \
                    fetch_amo<weft::Amo::kFetchAdd>, (dest, value, pe))                           \
  WEFT_NVSHMEM_BOTH(void, nvshmem_##N##_atomic_add, (T * dest, T value, int pe),                  \
                    amo<weft::Amo::kAdd>, (dest, value, pe))
#define WEFT_NVSHMEM_XAMO(N, T)                                                                    \
  WEFT_NVSHMEM_BOTH(T, nvshmem_##N##_atomic_fetch, (const T* source, int pe), fetch, (source, pe)) \
  WEFT_NVSHMEM_BOTH(void, nvshmem_##N##_atomic_set, (T * dest, T value, int pe),                   \
                    amo<weft::Amo::kSet>, (dest, value, pe))                                       \
  WEFT_NVSHMEM_BOTH(T, nvshmem_##N##_atomic_swap, (T * dest, T value, int pe),                     \
                    fetch_amo<weft::Amo::kSwap>, (dest, value, pe))
#define WEFT_NVSHMEM_BIT(N, T, op, Kind)                                             \
  WEFT_NVSHMEM_BOTH(void, nvshmem_##N##_atomic_##op, (T * dest, T value, int pe),    \
                    amo<weft::Amo::k##Kind>, (dest, value, pe))                      \
  WEFT_NVSHMEM_BOTH(T, nvshmem_##N##_atomic_fetch_##op, (T * dest, T value, int pe), \
                    fetch_amo<weft::Amo::kFetch##Kind>, (dest, value, pe))

#define WEFT_NVSHMEM_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old)      \
  WEFT_WHEN_##amo(WEFT_NVSHMEM_AMO(N, T)) WEFT_WHEN_##xamo(WEFT_NVSHMEM_XAMO(N, T)) \
      WEFT_WHEN_##bamo(WEFT_EACH_BITWISE(WEFT_NVSHMEM_BIT, N, T))
#include "types.def.h"
#undef WEFT_NVSHMEM_AMO
#undef WEFT_NVSHMEM_XAMO
#undef WEFT_NVSHMEM_BIT
