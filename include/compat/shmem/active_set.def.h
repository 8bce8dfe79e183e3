/* Deprecated: collectives over an active set, PE_start + i * 2^logPE_stride: OpenSHMEM 1.5, 9.9 and
   annex E. See families.def.h. */
#define WEFT_SHMEM_SET int PE_start, int logPE_stride, int PE_size
#define WEFT_SHMEM_SET_OF(pSync) (weft::shmem::ActiveSet{PE_start, logPE_stride, PE_size, pSync})

WEFT_SHMEM_ROUTINE(void, shmem_barrier, (WEFT_SHMEM_SET, long* pSync), set_barrier,
                   (WEFT_SHMEM_SET_OF(pSync)))
WEFT_SHMEM_ROUTINE(void, shmem_sync, (WEFT_SHMEM_SET, long* pSync), set_synchronize,
                   (WEFT_SHMEM_SET_OF(pSync)))

#define WEFT_SHMEM_SET_MOVE(B)                                                                     \
  WEFT_SHMEM_ROUTINE(                                                                              \
      void, shmem_broadcast##B,                                                                    \
      (void* dest, const void* source, size_t nelems, int PE_root, WEFT_SHMEM_SET, long* pSync),   \
      broadcast, (WEFT_SHMEM_SET_OF(pSync), dest, source, B / 8, nelems, PE_root))                 \
  WEFT_SHMEM_ROUTINE(void, shmem_collect##B,                                                       \
                     (void* dest, const void* source, size_t nelems, WEFT_SHMEM_SET, long* pSync), \
                     collect, (WEFT_SHMEM_SET_OF(pSync), dest, source, B / 8, nelems))             \
  WEFT_SHMEM_ROUTINE(void, shmem_fcollect##B,                                                      \
                     (void* dest, const void* source, size_t nelems, WEFT_SHMEM_SET, long* pSync), \
                     fcollect, (WEFT_SHMEM_SET_OF(pSync), dest, source, B / 8, nelems))            \
  WEFT_SHMEM_ROUTINE(void, shmem_alltoall##B,                                                      \
                     (void* dest, const void* source, size_t nelems, WEFT_SHMEM_SET, long* pSync), \
                     alltoall, (WEFT_SHMEM_SET_OF(pSync), dest, source, B / 8, nelems))            \
  WEFT_SHMEM_ROUTINE(void, shmem_alltoalls##B,                                                     \
                     (void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                      WEFT_SHMEM_SET, long* pSync),                                                \
                     alltoalls, (WEFT_SHMEM_SET_OF(pSync), dest, source, dst, sst, B / 8, nelems))
WEFT_SHMEM_SET_MOVE(32)
WEFT_SHMEM_SET_MOVE(64)
#undef WEFT_SHMEM_SET_MOVE

#define WEFT_SHMEM_TO_ALL(N, T, op, Kind)                                             \
  WEFT_SHMEM_ROUTINE(                                                                 \
      void, shmem_##N##_##op##_to_all,                                                \
      (T * dest, const T* source, int nreduce, WEFT_SHMEM_SET, T* pWrk, long* pSync), \
      to_all<weft::ReduceOp::k##Kind>, (WEFT_SHMEM_SET_OF(pSync), dest, source, nreduce, pWrk))

#define WEFT_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old) \
  WEFT_OLD_##old(WEFT_EACH_ARITH(WEFT_SHMEM_TO_ALL, N, T))             \
      WEFT_OLD_##old(WEFT_EACH_ORDER(WEFT_SHMEM_TO_ALL, N, T))         \
          WEFT_OLD_INT_##old(WEFT_EACH_BITWISE(WEFT_SHMEM_TO_ALL, N, T))
#include "types.def.h"
WEFT_EACH_ARITH(WEFT_SHMEM_TO_ALL, complexf, WEFT_SHMEM_COMPLEX(float))
WEFT_EACH_ARITH(WEFT_SHMEM_TO_ALL, complexd, WEFT_SHMEM_COMPLEX(double))
#undef WEFT_SHMEM_TO_ALL
#undef WEFT_SHMEM_SET
#undef WEFT_SHMEM_SET_OF
