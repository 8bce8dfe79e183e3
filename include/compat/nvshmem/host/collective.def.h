/* Collectives over a team. See routines.def.h. */
#define WEFT_NVSHMEM_MOVE(N, T)                                                                  \
  WEFT_NVSHMEM_SCOPED(                                                                           \
      int, N##_broadcast,                                                                        \
      (nvshmem_team_t team, T * dest, const T* source, size_t nelems, int PE_root), broadcast,   \
      (team, dest, source, nelems, PE_root))                                                     \
  WEFT_NVSHMEM_SCOPED(int, N##_fcollect,                                                         \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nelems), fcollect, \
                      (team, dest, source, nelems))                                              \
  WEFT_NVSHMEM_SCOPED(int, N##_alltoall,                                                         \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nelems), alltoall, \
                      (team, dest, source, nelems))
#define WEFT_NVSHMEM_REDUCE(N, T, op, Kind)                                             \
  WEFT_NVSHMEM_SCOPED(int, N##_##op##_reduce,                                           \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nreduce), \
                      reduce<weft::ReduceOp::k##Kind>, (team, dest, source, nreduce))   \
  WEFT_NVSHMEM_SCOPED(int, N##_##op##_reducescatter,                                    \
                      (nvshmem_team_t team, T * dest, const T* source, size_t nreduce), \
                      reducescatter<weft::ReduceOp::k##Kind>, (team, dest, source, nreduce))

#define WEFT_NVSHMEM_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old) \
  WEFT_NVSHMEM_MOVE(N, T)                                                      \
  WEFT_WHEN_##bits(WEFT_EACH_BITWISE(WEFT_NVSHMEM_REDUCE, N, T))               \
      WEFT_WHEN_##order(WEFT_EACH_ORDER(WEFT_NVSHMEM_REDUCE, N, T))            \
          WEFT_WHEN_##arith(WEFT_EACH_ARITH(WEFT_NVSHMEM_REDUCE, N, T))
#include "types.def.h"
#undef WEFT_NVSHMEM_MOVE
#undef WEFT_NVSHMEM_REDUCE

WEFT_NVSHMEM_SCOPED(int, broadcastmem,
                    (nvshmem_team_t team, void* dest, const void* source, size_t nelems,
                     int PE_root),
                    broadcast, (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems, PE_root))
WEFT_NVSHMEM_SCOPED(int, fcollectmem,
                    (nvshmem_team_t team, void* dest, const void* source, size_t nelems), fcollect,
                    (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems))
WEFT_NVSHMEM_SCOPED(int, alltoallmem,
                    (nvshmem_team_t team, void* dest, const void* source, size_t nelems), alltoall,
                    (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems))
