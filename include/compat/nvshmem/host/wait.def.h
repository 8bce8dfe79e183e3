/* Waits and tests of my own words. See routines.def.h. */
#define WEFT_NVSHMEM_WAIT(N, T)                                                                   \
  WEFT_NVSHMEM_BOTH(void, nvshmem_##N##_wait_until, (T * ivar, int cmp, T cmp_value), wait_until, \
                    (ivar, cmp, cmp_value))                                                       \
  WEFT_NVSHMEM_BOTH(int, nvshmem_##N##_test, (T * ivar, int cmp, T cmp_value), test,              \
                    (ivar, cmp, cmp_value))
#define WEFT_NVSHMEM_WAITS(N, T, V, suffix)                                                      \
  WEFT_NVSHMEM_BOTH(void, nvshmem_##N##_wait_until_all##suffix,                                  \
                    (T * ivars, size_t nelems, const int* status, int cmp, V),                   \
                    wait_until_all##suffix, (ivars, nelems, status, cmp, values))                \
  WEFT_NVSHMEM_BOTH(size_t, nvshmem_##N##_wait_until_any##suffix,                                \
                    (T * ivars, size_t nelems, const int* status, int cmp, V),                   \
                    wait_until_any##suffix, (ivars, nelems, status, cmp, values))                \
  WEFT_NVSHMEM_BOTH(size_t, nvshmem_##N##_wait_until_some##suffix,                               \
                    (T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, V), \
                    wait_until_some##suffix, (ivars, nelems, indices, status, cmp, values))      \
  WEFT_NVSHMEM_BOTH(int, nvshmem_##N##_test_all##suffix,                                         \
                    (T * ivars, size_t nelems, const int* status, int cmp, V), test_all##suffix, \
                    (ivars, nelems, status, cmp, values))                                        \
  WEFT_NVSHMEM_BOTH(size_t, nvshmem_##N##_test_any##suffix,                                      \
                    (T * ivars, size_t nelems, const int* status, int cmp, V), test_any##suffix, \
                    (ivars, nelems, status, cmp, values))                                        \
  WEFT_NVSHMEM_BOTH(size_t, nvshmem_##N##_test_some##suffix,                                     \
                    (T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, V), \
                    test_some##suffix, (ivars, nelems, indices, status, cmp, values))
#define WEFT_NVSHMEM_ALL_WAITS(N, T)   \
  WEFT_NVSHMEM_WAIT(N, T)              \
  WEFT_NVSHMEM_WAITS(N, T, T values, ) \
  WEFT_NVSHMEM_WAITS(N, T, T* values, _vector)

#define WEFT_NVSHMEM_TYPE(N, T, rma, amo, ...) WEFT_WHEN_##amo(WEFT_NVSHMEM_ALL_WAITS(N, T))
#include "types.def.h"
WEFT_NVSHMEM_ALL_WAITS(short, short)
WEFT_NVSHMEM_ALL_WAITS(ushort, unsigned short)
#undef WEFT_NVSHMEM_WAIT
#undef WEFT_NVSHMEM_WAITS
#undef WEFT_NVSHMEM_ALL_WAITS

WEFT_NVSHMEM_BOTH(uint64_t, nvshmem_signal_fetch, (uint64_t * sig_addr), signal_fetch, (sig_addr))
WEFT_NVSHMEM_BOTH(uint64_t, nvshmem_signal_wait_until,
                  (uint64_t * sig_addr, int cmp, uint64_t cmp_value), signal_wait_until,
                  (sig_addr, cmp, cmp_value))
