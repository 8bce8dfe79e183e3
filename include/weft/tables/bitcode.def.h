/* The functions of Weft's bitcode library, which weft/device/bitcode.h explains. Define
 *   WEFT_BITCODE(result, name, type, scope, parameters, arguments)
 * and include: it is stamped for each of them. The function is called weft_NAMETYPESCOPE; type and
 * scope may be nothing. */

#define WEFT_BITCODE_WAITS(S, N, T)                                                              \
  WEFT_BITCODE(int32_t, wait_until, N, S,                                                        \
               (weft_address context, weft_address word, int32_t cmp, T value),                  \
               (context, word, cmp, value))                                                      \
  WEFT_BITCODE(int32_t, wait_until_all, N, S,                                                    \
               (weft_address context, weft_address words, uint64_t count, int32_t cmp, T value), \
               (context, words, count, cmp, value))                                              \
  WEFT_BITCODE(int32_t, test, N, S,                                                              \
               (weft_address context, weft_address word, int32_t cmp, T value),                  \
               (context, word, cmp, value))

#define WEFT_BITCODE_ATOMICS(S, N, T)                                                        \
  WEFT_BITCODE(int32_t, atomic_set, N, S,                                                    \
               (weft_address context, weft_address word, T value, int32_t pe),               \
               (context, word, value, pe))                                                   \
  WEFT_BITCODE(int32_t, atomic_add, N, S,                                                    \
               (weft_address context, weft_address word, T value, int32_t pe),               \
               (context, word, value, pe))                                                   \
  WEFT_BITCODE(T, atomic_fetch, N, S, (weft_address context, weft_address word, int32_t pe), \
               (context, word, pe))                                                          \
  WEFT_BITCODE(T, atomic_fetch_add, N, S,                                                    \
               (weft_address context, weft_address word, T value, int32_t pe),               \
               (context, word, value, pe))                                                   \
  WEFT_BITCODE(T, atomic_swap, N, S,                                                         \
               (weft_address context, weft_address word, T value, int32_t pe),               \
               (context, word, value, pe))                                                   \
  WEFT_BITCODE(T, atomic_compare_swap, N, S,                                                 \
               (weft_address context, weft_address word, T compare, T value, int32_t pe),    \
               (context, word, compare, value, pe))

#define WEFT_BITCODE_SCOPED(S)                                                                    \
  WEFT_BITCODE(                                                                                   \
      int32_t, put, , S,                                                                          \
      (weft_address context, weft_address dst, weft_address src, uint64_t bytes, int32_t pe),     \
      (context, dst, src, bytes, pe))                                                             \
  WEFT_BITCODE(                                                                                   \
      int32_t, put_nbi, , S,                                                                      \
      (weft_address context, weft_address dst, weft_address src, uint64_t bytes, int32_t pe),     \
      (context, dst, src, bytes, pe))                                                             \
  WEFT_BITCODE(                                                                                   \
      int32_t, get, , S,                                                                          \
      (weft_address context, weft_address dst, weft_address src, uint64_t bytes, int32_t pe),     \
      (context, dst, src, bytes, pe))                                                             \
  WEFT_BITCODE(                                                                                   \
      int32_t, get_nbi, , S,                                                                      \
      (weft_address context, weft_address dst, weft_address src, uint64_t bytes, int32_t pe),     \
      (context, dst, src, bytes, pe))                                                             \
  WEFT_BITCODE(int32_t, put_signal_set, , S,                                                      \
               (weft_address context, weft_address dst, weft_address src, uint64_t bytes,         \
                weft_address signal, uint64_t value, int32_t pe),                                 \
               (context, dst, src, bytes, signal, value, pe))                                     \
  WEFT_BITCODE(int32_t, put_signal_add, , S,                                                      \
               (weft_address context, weft_address dst, weft_address src, uint64_t bytes,         \
                weft_address signal, uint64_t value, int32_t pe),                                 \
               (context, dst, src, bytes, signal, value, pe))                                     \
  WEFT_BITCODE(int32_t, signal_set, , S,                                                          \
               (weft_address context, weft_address signal, uint64_t value, int32_t pe),           \
               (context, signal, value, pe))                                                      \
  WEFT_BITCODE(int32_t, signal_add, , S,                                                          \
               (weft_address context, weft_address signal, uint64_t value, int32_t pe),           \
               (context, signal, value, pe))                                                      \
  WEFT_BITCODE(int32_t, fence, , S, (weft_address context), (context))                            \
  WEFT_BITCODE(int32_t, quiet, , S, (weft_address context), (context))                            \
  WEFT_BITCODE(int32_t, sync, , S, (weft_address context, weft_address team), (context, team))    \
  WEFT_BITCODE(int32_t, barrier, , S, (weft_address context, weft_address team), (context, team)) \
  WEFT_BITCODE(int32_t, broadcast, , S,                                                           \
               (weft_address context, weft_address team, weft_address dst, weft_address src,      \
                uint64_t bytes, int32_t root),                                                    \
               (context, team, dst, src, bytes, root))                                            \
  WEFT_BITCODE(int32_t, fcollect, , S,                                                            \
               (weft_address context, weft_address team, weft_address dst, weft_address src,      \
                uint64_t bytes),                                                                  \
               (context, team, dst, src, bytes))                                                  \
  WEFT_BITCODE_WAITS(S, _u32, uint32_t)                                                           \
  WEFT_BITCODE_WAITS(S, _u64, uint64_t)                                                           \
  WEFT_BITCODE_WAITS(S, _i32, int32_t)                                                            \
  WEFT_BITCODE_WAITS(S, _i64, int64_t)                                                            \
  WEFT_BITCODE_ATOMICS(S, _u32, uint32_t)                                                         \
  WEFT_BITCODE_ATOMICS(S, _u64, uint64_t)

WEFT_BITCODE_SCOPED(_thread)
WEFT_BITCODE_SCOPED(_warp)
WEFT_BITCODE_SCOPED(_block)
WEFT_BITCODE(int32_t, my_pe, , , (weft_address context), (context))
WEFT_BITCODE(int32_t, n_pes, , , (weft_address context), (context))
WEFT_BITCODE(int32_t, team_my_pe, , , (weft_address context, weft_address team), (context, team))
WEFT_BITCODE(int32_t, team_n_pes, , , (weft_address context, weft_address team), (context, team))
WEFT_BITCODE(int32_t, team_translate_pe, , ,
             (weft_address context, weft_address team, int32_t rank, weft_address other),
             (context, team, rank, other))
WEFT_BITCODE(weft_address, current_context, , , (int32_t unused), (unused))
WEFT_BITCODE(int32_t, thread_rank, , , (int32_t unused), (unused))
WEFT_BITCODE(weft_address, ptr, , , (weft_address context, weft_address symmetric, int32_t pe),
             (context, symmetric, pe))

#undef WEFT_BITCODE_SCOPED
#undef WEFT_BITCODE_ATOMICS
#undef WEFT_BITCODE_WAITS
#undef WEFT_BITCODE
