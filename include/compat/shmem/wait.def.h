/* Waits and tests: OpenSHMEM 1.5, 9.11 and 9.8.3, and the deprecated ones. See families.def.h. */
#define WEFT_SHMEM_WAIT(N, T)                                                         \
  WEFT_SHMEM_PLAIN(void, N, wait_until, (T * ivar, int cmp, T cmp_value), wait_until, \
                   (ivar, cmp, cmp_value))                                            \
  WEFT_SHMEM_PLAIN(int, N, test, (T * ivar, int cmp, T cmp_value), test, (ivar, cmp, cmp_value))
#define WEFT_SHMEM_WAITS(N, T, V, suffix)                                                       \
  WEFT_SHMEM_PLAIN(void, N, wait_until_all##suffix,                                             \
                   (T * ivars, size_t nelems, const int* status, int cmp, V),                   \
                   wait_until_all##suffix, (ivars, nelems, status, cmp, values))                \
  WEFT_SHMEM_PLAIN(size_t, N, wait_until_any##suffix,                                           \
                   (T * ivars, size_t nelems, const int* status, int cmp, V),                   \
                   wait_until_any##suffix, (ivars, nelems, status, cmp, values))                \
  WEFT_SHMEM_PLAIN(size_t, N, wait_until_some##suffix,                                          \
                   (T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, V), \
                   wait_until_some##suffix, (ivars, nelems, indices, status, cmp, values))      \
  WEFT_SHMEM_PLAIN(int, N, test_all##suffix,                                                    \
                   (T * ivars, size_t nelems, const int* status, int cmp, V), test_all##suffix, \
                   (ivars, nelems, status, cmp, values))                                        \
  WEFT_SHMEM_PLAIN(size_t, N, test_any##suffix,                                                 \
                   (T * ivars, size_t nelems, const int* status, int cmp, V), test_any##suffix, \
                   (ivars, nelems, status, cmp, values))                                        \
  WEFT_SHMEM_PLAIN(size_t, N, test_some##suffix,                                                \
                   (T * ivars, size_t nelems, size_t * indices, const int* status, int cmp, V), \
                   test_some##suffix, (ivars, nelems, indices, status, cmp, values))

#define WEFT_SHMEM_ALL_WAITS(N, T)   \
  WEFT_SHMEM_WAIT(N, T)              \
  WEFT_SHMEM_WAITS(N, T, T values, ) \
  WEFT_SHMEM_WAITS(N, T, T* values, _vector)
#define WEFT_SHMEM_OLD_WAIT(N, T) \
  WEFT_SHMEM_PLAIN(void, N, wait, (T * ivar, T cmp_value), old_wait, (ivar, cmp_value))

#define WEFT_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old) \
  WEFT_WHEN_##amo(WEFT_SHMEM_ALL_WAITS(N, T)) WEFT_OLD_INT_##old(WEFT_SHMEM_OLD_WAIT(N, T))
#include "types.def.h"
/* Deprecated: words that are too small for atomics. Waits for several such words come from
 * other implementations. */
WEFT_SHMEM_ALL_WAITS(short, short)
WEFT_SHMEM_ALL_WAITS(ushort, unsigned short)
/* Deprecated, and in C++ one of the overloads. */
#if !defined(__cplusplus) || defined(WEFT_SHMEM_C_NAMES)
WEFT_SHMEM_ROUTINE(void, shmem_wait_until, (long* ivar, int cmp, long cmp_value), wait_until,
                   (ivar, cmp, cmp_value))
WEFT_SHMEM_ROUTINE(void, shmem_wait, (long* ivar, long cmp_value), old_wait, (ivar, cmp_value))
#endif
#undef WEFT_SHMEM_WAIT
#undef WEFT_SHMEM_WAITS
#undef WEFT_SHMEM_ALL_WAITS
#undef WEFT_SHMEM_OLD_WAIT

WEFT_SHMEM_ROUTINE(uint64_t, shmem_signal_fetch, (const uint64_t* sig_addr), signal_fetch,
                   (sig_addr))
WEFT_SHMEM_ROUTINE(uint64_t, shmem_signal_wait_until,
                   (uint64_t * sig_addr, int cmp, uint64_t cmp_value), signal_wait_until,
                   (sig_addr, cmp, cmp_value))
