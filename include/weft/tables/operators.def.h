/* The operators of weft::kernels that weft/kernels.h has in C. Define
 *   WEFT_OPERATOR(name, Class, problem, options, parameters, arguments)
 * and include: it is stamped for each of them. Or define WEFT_COLLECTIVE, too, which then takes
 * those whose calls have a plan. `parameters` of a call in C, `arguments` of the class's. */
#ifndef WEFT_COLLECTIVE
#define WEFT_COLLECTIVE WEFT_OPERATOR
#endif

WEFT_COLLECTIVE(all_reduce, AllReduce, weft_collective_problem, weft_collective_options,
                (void* out, const void* in, size_t count), (out, in, count))
WEFT_COLLECTIVE(all_gather, AllGather, weft_collective_problem, weft_collective_options,
                (void* out, const void* in, size_t count), (out, in, count))
WEFT_COLLECTIVE(reduce_scatter, ReduceScatter, weft_collective_problem, weft_collective_options,
                (void* out, const void* in, size_t count), (out, in, count))
WEFT_COLLECTIVE(all_to_all, AllToAll, weft_collective_problem, weft_collective_options,
                (void* out, const void* in, size_t count), (out, in, count))
WEFT_COLLECTIVE(all_to_all_v, AllToAllV, weft_collective_problem, weft_collective_options,
                (void* out, const void* in, const uint64_t* send_counts,
                 const uint64_t* send_offsets, const uint64_t* recv_offsets, uint64_t* recv_counts),
                (out, in, {send_counts, send_offsets, recv_offsets, recv_counts}))
WEFT_COLLECTIVE(broadcast, Broadcast, weft_collective_problem, weft_collective_options,
                (void* out, const void* in, size_t count, int root), (out, in, count, root))
WEFT_COLLECTIVE(all_reduce_norm, AllReduceNorm, weft_all_reduce_norm_problem,
                weft_collective_options,
                (void* out, void* residual_out, const void* in, const void* residual,
                 const void* weight, size_t rows),
                (out, residual_out, in, residual, weight, rows))
WEFT_OPERATOR(gemm, Gemm, weft_gemm_problem, weft_gemm_options,
              (void* c, const void* a, const void* b, int64_t m, const float* scales_a,
               const float* scales_b),
              (c, a, b, m, {scales_a, scales_b}))
WEFT_OPERATOR(ag_gemm, AgGemm, weft_gemm_problem, weft_ag_gemm_options,
              (void* c, const void* a, const void* b, int64_t m, void* gathered),
              (c, a, b, m, gathered))
WEFT_OPERATOR(gemm_rs, GemmRs, weft_gemm_problem, weft_gemm_rs_options,
              (void* c, const void* a, const void* b, int64_t m), (c, a, b, m))
WEFT_OPERATOR(gemm_ar, GemmAr, weft_gemm_problem, weft_gemm_ar_options,
              (void* c, const void* a, const void* b, int64_t m), (c, a, b, m))

#undef WEFT_COLLECTIVE
#undef WEFT_OPERATOR
