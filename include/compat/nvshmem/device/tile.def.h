/* The tile routines of one scope. Define these and include; the first two are undefined at the end.
 *
 *   WEFT_NVSHMEM_SCOPE, WEFT_NVSHMEM_SUFFIX(stem)   Thread, Warp, ..., and a routine's name there
 *   WEFT_NVSHMEM_TILE(algorithm, name, (parameters), (arguments), body...)
 *       template <class src_tensor_t, class dst_tensor_t, class tuple_t, algorithm algo>
 *   WEFT_NVSHMEM_TILE_WAIT(name, (parameters), (arguments), body)   template <tile_coll_algo_t
 * algo>
 */

#define WEFT_NVSHMEM_ENDS src_tensor_t src, dst_tensor_t dst, tuple_t start_coord, tuple_t boundary

WEFT_NVSHMEM_TILE(tile_algo_t, WEFT_NVSHMEM_SUFFIX(tile_put),
                  (WEFT_NVSHMEM_ENDS, int pe, std::uint64_t flag),
                  (src, dst, start_coord, boundary, pe, flag), put<algo>)
WEFT_NVSHMEM_TILE(tile_algo_t, WEFT_NVSHMEM_SUFFIX(tile_get),
                  (WEFT_NVSHMEM_ENDS, int pe, std::uint64_t flag),
                  (src, dst, start_coord, boundary, pe, flag), get<algo>)
WEFT_NVSHMEM_TILE(tile_coll_algo_t, WEFT_NVSHMEM_SUFFIX(tile_broadcast),
                  (nvshmem_team_t team, WEFT_NVSHMEM_ENDS, std::uint64_t flag),
                  (team, src, dst, start_coord, boundary, flag), broadcast<algo>)
WEFT_NVSHMEM_TILE(tile_coll_algo_t, WEFT_NVSHMEM_SUFFIX(tile_allgather),
                  (nvshmem_team_t team, WEFT_NVSHMEM_ENDS, std::uint64_t flag),
                  (team, src, dst, start_coord, boundary, flag), allgather<algo>)

/* Without a root for one-shot algorithms, which need none. */
#define WEFT_NVSHMEM_ALLREDUCE(name, kOp)                                                   \
  WEFT_NVSHMEM_TILE(tile_coll_algo_t, name,                                                 \
                    (nvshmem_team_t team, WEFT_NVSHMEM_ENDS, int root, std::uint64_t flag), \
                    (team, src, dst, start_coord, boundary, root, flag),                    \
                    allreduce<weft::ReduceOp::kOp, algo>)                                   \
  WEFT_NVSHMEM_TILE(                                                                        \
      tile_coll_algo_t, name, (nvshmem_team_t team, WEFT_NVSHMEM_ENDS, std::uint64_t flag), \
      (team, src, dst, start_coord, boundary, -1, flag), allreduce<weft::ReduceOp::kOp, algo>)

/* NVSHMEM 3.4 says allreduce, 3.5 and later say reduce. */
#define WEFT_NVSHMEM_REDUCES(op, kOp)                                                       \
  WEFT_NVSHMEM_ALLREDUCE(WEFT_NVSHMEM_SUFFIX(tile_##op##_reduce), kOp)                      \
  WEFT_NVSHMEM_ALLREDUCE(WEFT_NVSHMEM_SUFFIX(tile_##op##_allreduce), kOp)                   \
  WEFT_NVSHMEM_TILE(tile_coll_algo_t, WEFT_NVSHMEM_SUFFIX(tile_##op##_rooted_reduce),       \
                    (nvshmem_team_t team, WEFT_NVSHMEM_ENDS, int root, std::uint64_t flag), \
                    (team, src, dst, start_coord, boundary, root, flag),                    \
                    reduce<weft::ReduceOp::kOp, algo>)
WEFT_NVSHMEM_REDUCES(sum, kSum)
WEFT_NVSHMEM_REDUCES(min, kMin)
WEFT_NVSHMEM_REDUCES(max, kMax)

WEFT_NVSHMEM_TILE_WAIT(WEFT_NVSHMEM_SUFFIX(tile_collective_wait),
                       (nvshmem_team_t team, std::uint64_t flag), (team, flag), wait<algo>)

#undef WEFT_NVSHMEM_ENDS
#undef WEFT_NVSHMEM_ALLREDUCE
#undef WEFT_NVSHMEM_REDUCES
#undef WEFT_NVSHMEM_SCOPE
#undef WEFT_NVSHMEM_SUFFIX
