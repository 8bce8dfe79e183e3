/* The element types of NVSHMEM: those of shmem/types.def.h but long double, and in C++ the 16-bit
 * floats, which have no atomics, waits and bitwise reductions. Define WEFT_NVSHMEM_TYPE and
 * include; the columns are those of shmem/types.def.h. */
#define WEFT_NVSHMEM_LEFT_OUT_longdouble 0, 0
#define WEFT_NVSHMEM_SECOND(first, second, ...) second
#define WEFT_NVSHMEM_IS_THERE(...) WEFT_NVSHMEM_SECOND(__VA_ARGS__, 1, 1)
#define WEFT_NVSHMEM_WHEN(is_there, ...) WEFT_NVSHMEM_WHEN_IS(is_there, __VA_ARGS__)
#define WEFT_NVSHMEM_WHEN_IS(is_there, ...) WEFT_WHEN_##is_there(__VA_ARGS__)

#define WEFT_TYPE(N, ...)                                             \
  WEFT_NVSHMEM_WHEN(WEFT_NVSHMEM_IS_THERE(WEFT_NVSHMEM_LEFT_OUT_##N), \
                    WEFT_NVSHMEM_TYPE(N, __VA_ARGS__))
#include "../../shmem/types.def.h"
#ifdef __cplusplus
WEFT_NVSHMEM_TYPE(half, half, 1, 0, 0, 0, 1, 1, 0, 0)
WEFT_NVSHMEM_TYPE(bfloat16, __nv_bfloat16, 1, 0, 0, 0, 1, 1, 0, 0)
#endif

#undef WEFT_NVSHMEM_LEFT_OUT_longdouble
#undef WEFT_NVSHMEM_SECOND
#undef WEFT_NVSHMEM_IS_THERE
#undef WEFT_NVSHMEM_WHEN
#undef WEFT_NVSHMEM_WHEN_IS
#undef WEFT_NVSHMEM_TYPE
