/* The routines that only kernels have. Define these and include; WEFT_NVSHMEM_SCOPED is undefined
 * at the end.
 *
 *   WEFT_NVSHMEM_SCOPED(result, stem, (parameters), body, (arguments))   nvshmem_<stem>,
 *       nvshmemx_<stem>_warp and nvshmemx_<stem>_block
 *   WEFT_NVSHMEM_KERNEL(result, name, Scope, (parameters), body, (arguments))
 */

/* Floats that add. */
#define WEFT_NVSHMEM_ADD(N, T)                                                                 \
  WEFT_NVSHMEM_KERNEL(void, nvshmemx_##N##_atomic_add, Thread, (T * dest, T value, int pe),    \
                      amo<weft::Amo::kAdd>, (dest, value, pe))                                 \
  WEFT_NVSHMEM_KERNEL(T, nvshmemx_##N##_atomic_fetch_add, Thread, (T * dest, T value, int pe), \
                      fetch_amo<weft::Amo::kFetchAdd>, (dest, value, pe))
WEFT_NVSHMEM_ADD(float, float)
WEFT_NVSHMEM_ADD(double, double)
#undef WEFT_NVSHMEM_ADD

/* The greatest value and where it is. */
WEFT_NVSHMEM_KERNEL(int, nvshmemx_double2_maxloc_reduce_block, Block,
                    (nvshmem_team_t team, double2* dest, const double2* source, size_t nreduce),
                    maxloc_reduce, (team, dest, source, nreduce))

/* All sources may be reused: quiet says more. */
WEFT_NVSHMEM_KERNEL(void, nvshmemx_flush, Thread, (void), quiet, ())
WEFT_NVSHMEM_KERNEL(void, nvshmemx_flush_warp, Warp, (void), quiet, ())
WEFT_NVSHMEM_KERNEL(void, nvshmemx_flush_block, Block, (void), quiet, ())

/* Four warps. */
WEFT_NVSHMEM_KERNEL(int, nvshmemx_barrier_warpgroup, Warpgroup, (nvshmem_team_t team), barrier,
                    (team))

#undef WEFT_NVSHMEM_SCOPED
