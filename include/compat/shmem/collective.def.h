/* Collectives over a team: OpenSHMEM 1.5, 9.9; scans: 1.6. See families.def.h. */
#define WEFT_SHMEM_MOVE(N, T)                                                                      \
  WEFT_SHMEM_PLAIN(int, N, broadcast,                                                              \
                   (shmem_team_t team, T * dest, const T* source, size_t nelems, int PE_root),     \
                   broadcast, (team, dest, source, nelems, PE_root))                               \
  WEFT_SHMEM_PLAIN(int, N, collect, (shmem_team_t team, T * dest, const T* source, size_t nelems), \
                   collect, (team, dest, source, nelems))                                          \
  WEFT_SHMEM_PLAIN(int, N, fcollect,                                                               \
                   (shmem_team_t team, T * dest, const T* source, size_t nelems), fcollect,        \
                   (team, dest, source, nelems))                                                   \
  WEFT_SHMEM_PLAIN(int, N, alltoall,                                                               \
                   (shmem_team_t team, T * dest, const T* source, size_t nelems), alltoall,        \
                   (team, dest, source, nelems))                                                   \
  WEFT_SHMEM_PLAIN(                                                                                \
      int, N, alltoalls,                                                                           \
      (shmem_team_t team, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
      alltoalls, (team, dest, source, dst, sst, nelems))
#define WEFT_SHMEM_REDUCE(N, T, op, Kind)                                          \
  WEFT_SHMEM_PLAIN(int, N, op##_reduce,                                            \
                   (shmem_team_t team, T * dest, const T* source, size_t nreduce), \
                   reduce<weft::ReduceOp::k##Kind>, (team, dest, source, nreduce))
#define WEFT_SHMEM_SCAN(N, T)                                                             \
  WEFT_SHMEM_PLAIN(int, N, sum_inscan,                                                    \
                   (shmem_team_t team, T * dest, const T* source, size_t nelems), inscan, \
                   (team, dest, source, nelems))                                          \
  WEFT_SHMEM_PLAIN(int, N, sum_exscan,                                                    \
                   (shmem_team_t team, T * dest, const T* source, size_t nelems), exscan, \
                   (team, dest, source, nelems))

#define WEFT_SHMEM_ARITH(N, T)             \
  WEFT_EACH_ARITH(WEFT_SHMEM_REDUCE, N, T) \
  WEFT_SHMEM_SCAN(N, T)

#define WEFT_TYPE(N, T, rma, amo, xamo, bits, order, arith, bamo, old) \
  WEFT_WHEN_##rma(WEFT_SHMEM_MOVE(N, T))                               \
      WEFT_WHEN_##bits(WEFT_EACH_BITWISE(WEFT_SHMEM_REDUCE, N, T))     \
          WEFT_WHEN_##order(WEFT_EACH_ORDER(WEFT_SHMEM_REDUCE, N, T))  \
              WEFT_WHEN_##arith(WEFT_SHMEM_ARITH(N, T))
#include "types.def.h"
WEFT_SHMEM_ARITH(complexf, WEFT_SHMEM_COMPLEX(float))
WEFT_SHMEM_ARITH(complexd, WEFT_SHMEM_COMPLEX(double))
#undef WEFT_SHMEM_MOVE
#undef WEFT_SHMEM_REDUCE
#undef WEFT_SHMEM_SCAN
#undef WEFT_SHMEM_ARITH

WEFT_SHMEM_ROUTINE(int, shmem_broadcastmem,
                   (shmem_team_t team, void* dest, const void* source, size_t nelems, int PE_root),
                   broadcast, (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems, PE_root))
WEFT_SHMEM_ROUTINE(int, shmem_collectmem,
                   (shmem_team_t team, void* dest, const void* source, size_t nelems), collect,
                   (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems))
WEFT_SHMEM_ROUTINE(int, shmem_fcollectmem,
                   (shmem_team_t team, void* dest, const void* source, size_t nelems), fcollect,
                   (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems))
WEFT_SHMEM_ROUTINE(int, shmem_alltoallmem,
                   (shmem_team_t team, void* dest, const void* source, size_t nelems), alltoall,
                   (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), nelems))
WEFT_SHMEM_ROUTINE(int, shmem_alltoallsmem,
                   (shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst,
                    size_t nelems),
                   alltoalls, (team, WEFT_BITS(8, dest), WEFT_BITS(8, source), dst, sst, nelems))
