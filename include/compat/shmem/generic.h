/* The type-generic names for C11. The first argument tells the type, or that a context comes first
 * and the second tells it. A type that a family does not have is a compile error. */
#ifndef WEFT_COMPAT_SHMEM_GENERIC_H
#define WEFT_COMPAT_SHMEM_GENERIC_H

#include "types.def.h"

/* Chosen when nothing fits: the call does not compile. The compiler says why, and in which of the
 * names below; one that has no attribute for that complains of the arguments. */
#if defined(__has_attribute)
#if __has_attribute(error)
#define WEFT_SHMEM_NO_SUCH_TYPE                                                                    \
  __attribute__((error("OpenSHMEM has no such routine for the type that this argument points to: " \
                       "see its tables of types, or move bytes (shmem_putmem, shmem_getmem, "       \
                       "shmem_broadcastmem, ...)")))
#endif
#endif
#ifdef WEFT_SHMEM_NO_SUCH_TYPE
int weft_shmem_has_no_such_type(const volatile void*, ...) WEFT_SHMEM_NO_SUCH_TYPE;
#else
void weft_shmem_has_no_such_type(void);
#endif

#define WEFT_ARG1_(a, ...) a
#define WEFT_ARG1(...) WEFT_ARG1_(__VA_ARGS__, 0)
#define WEFT_ARG2_(a, b, ...) b
#define WEFT_ARG2(...) WEFT_ARG2_(__VA_ARGS__, 0, 0)

/* `T *: shmem_N_f,` of every type that has the family: one macro for each column. */
#define WEFT_PICK(T, name) T* : name, const T* : name,
#define WEFT_PICK_IF(on, F, N, T) WEFT_WHEN_##on(WEFT_PICK(T, shmem_##N##_##F))
#define WEFT_PICK_CTX_IF(on, F, N, T) WEFT_WHEN_##on(WEFT_PICK(T, shmem_ctx_##N##_##F))
#define WEFT_PICK_rma(F, N, T, on, ...) WEFT_PICK_IF(on, F, N, T)
#define WEFT_PICK_amo(F, N, T, rma, on, ...) WEFT_PICK_IF(on, F, N, T)
#define WEFT_PICK_xamo(F, N, T, rma, amo, on, ...) WEFT_PICK_IF(on, F, N, T)
#define WEFT_PICK_bits(F, N, T, rma, amo, xamo, on, ...) WEFT_PICK_IF(on, F, N, T)
#define WEFT_PICK_order(F, N, T, rma, amo, xamo, bits, on, ...) WEFT_PICK_IF(on, F, N, T)
#define WEFT_PICK_arith(F, N, T, rma, amo, xamo, bits, order, on, ...) WEFT_PICK_IF(on, F, N, T)
#define WEFT_PICK_bamo(F, N, T, rma, amo, xamo, bits, order, arith, on, old) \
  WEFT_PICK_IF(on, F, N, T)
#define WEFT_PICK_ctx_rma(F, N, T, on, ...) WEFT_PICK_CTX_IF(on, F, N, T)
#define WEFT_PICK_ctx_amo(F, N, T, rma, on, ...) WEFT_PICK_CTX_IF(on, F, N, T)
#define WEFT_PICK_ctx_xamo(F, N, T, rma, amo, on, ...) WEFT_PICK_CTX_IF(on, F, N, T)
#define WEFT_PICK_ctx_bamo(F, N, T, rma, amo, xamo, bits, order, arith, on, old) \
  WEFT_PICK_CTX_IF(on, F, N, T)

#define WEFT_PICK_ANY(column, F) WEFT_DISTINCT_TYPES(WEFT_PICK_##column, F)
#define WEFT_PICK_ELSE \
  default: weft_shmem_has_no_such_type

/* The type of the first argument, of the second, and of the first or of that behind a context. */
#define WEFT_BY_FIRST(column, F, ...) \
  _Generic((WEFT_ARG1(__VA_ARGS__)), WEFT_PICK_ANY(column, F) WEFT_PICK_ELSE)(__VA_ARGS__)
#define WEFT_BY_SECOND(column, F, ...) \
  _Generic((WEFT_ARG2(__VA_ARGS__)), WEFT_PICK_ANY(column, F) WEFT_PICK_ELSE)(__VA_ARGS__)
#define WEFT_WITH_CTX(column, F, ...)                                                            \
  _Generic((WEFT_ARG1(__VA_ARGS__)), WEFT_PICK_ANY(column, F) shmem_ctx_t                        \
           : _Generic((WEFT_ARG2(__VA_ARGS__)), WEFT_PICK_ANY(ctx_##column, F) WEFT_PICK_ELSE),  \
             WEFT_PICK_ELSE)(__VA_ARGS__)

#define shmem_put(...) WEFT_WITH_CTX(rma, put, __VA_ARGS__)
#define shmem_put_nbi(...) WEFT_WITH_CTX(rma, put_nbi, __VA_ARGS__)
#define shmem_get(...) WEFT_WITH_CTX(rma, get, __VA_ARGS__)
#define shmem_get_nbi(...) WEFT_WITH_CTX(rma, get_nbi, __VA_ARGS__)
#define shmem_p(...) WEFT_WITH_CTX(rma, p, __VA_ARGS__)
#define shmem_g(...) WEFT_WITH_CTX(rma, g, __VA_ARGS__)
#define shmem_iput(...) WEFT_WITH_CTX(rma, iput, __VA_ARGS__)
#define shmem_iget(...) WEFT_WITH_CTX(rma, iget, __VA_ARGS__)
#define shmem_ibput(...) WEFT_WITH_CTX(rma, ibput, __VA_ARGS__)
#define shmem_ibget(...) WEFT_WITH_CTX(rma, ibget, __VA_ARGS__)
#define shmem_put_signal(...) WEFT_WITH_CTX(rma, put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) WEFT_WITH_CTX(rma, put_signal_nbi, __VA_ARGS__)

#define shmem_signal_set(...)                    \
  _Generic((WEFT_ARG1(__VA_ARGS__)), shmem_ctx_t \
           : shmem_ctx_signal_set, default       \
           : shmem_signal_set)(__VA_ARGS__)
#define shmem_signal_add(...)                    \
  _Generic((WEFT_ARG1(__VA_ARGS__)), shmem_ctx_t \
           : shmem_ctx_signal_add, default       \
           : shmem_signal_add)(__VA_ARGS__)

#define shmem_atomic_compare_swap(...) WEFT_WITH_CTX(amo, atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) WEFT_WITH_CTX(amo, atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...) WEFT_WITH_CTX(amo, atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) WEFT_WITH_CTX(amo, atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...) WEFT_WITH_CTX(amo, atomic_add, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) WEFT_WITH_CTX(amo, atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) WEFT_WITH_CTX(amo, atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) WEFT_WITH_CTX(amo, atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_fetch(...) WEFT_WITH_CTX(xamo, atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) WEFT_WITH_CTX(xamo, atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) WEFT_WITH_CTX(xamo, atomic_swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) WEFT_WITH_CTX(xamo, atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) WEFT_WITH_CTX(xamo, atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_and(...) WEFT_WITH_CTX(bamo, atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) WEFT_WITH_CTX(bamo, atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) WEFT_WITH_CTX(bamo, atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_or(...) WEFT_WITH_CTX(bamo, atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) WEFT_WITH_CTX(bamo, atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) WEFT_WITH_CTX(bamo, atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_xor(...) WEFT_WITH_CTX(bamo, atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) WEFT_WITH_CTX(bamo, atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) WEFT_WITH_CTX(bamo, atomic_fetch_xor_nbi, __VA_ARGS__)

/* Deprecated. */
#define WEFT_OLD_AMO(F, ...) WEFT_BY_FIRST(amo, F, __VA_ARGS__)
#define WEFT_OLD_XAMO(F, ...) WEFT_BY_FIRST(xamo, F, __VA_ARGS__)
#define shmem_cswap(...) WEFT_OLD_AMO(cswap, __VA_ARGS__)
#define shmem_finc(...) WEFT_OLD_AMO(finc, __VA_ARGS__)
#define shmem_inc(...) WEFT_OLD_AMO(inc, __VA_ARGS__)
#define shmem_fadd(...) WEFT_OLD_AMO(fadd, __VA_ARGS__)
#define shmem_add(...) WEFT_OLD_AMO(add, __VA_ARGS__)
#define shmem_fetch(...) WEFT_OLD_XAMO(fetch, __VA_ARGS__)
#define shmem_set(...) WEFT_OLD_XAMO(set, __VA_ARGS__)
#define shmem_swap(...) WEFT_OLD_XAMO(swap, __VA_ARGS__)

#define WEFT_BY_WORD(F, ...)                                       \
  _Generic((WEFT_ARG1(__VA_ARGS__)),                               \
           WEFT_PICK_ANY(amo, F) WEFT_PICK(short, shmem_short_##F) \
               WEFT_PICK(unsigned short, shmem_ushort_##F) WEFT_PICK_ELSE)(__VA_ARGS__)
#define shmem_wait_until(...) WEFT_BY_WORD(wait_until, __VA_ARGS__)
#define shmem_test(...) WEFT_BY_WORD(test, __VA_ARGS__)
#define shmem_wait_until_all(...) WEFT_BY_WORD(wait_until_all, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) WEFT_BY_WORD(wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any(...) WEFT_BY_WORD(wait_until_any, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) WEFT_BY_WORD(wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some(...) WEFT_BY_WORD(wait_until_some, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) WEFT_BY_WORD(wait_until_some_vector, __VA_ARGS__)
#define shmem_test_all(...) WEFT_BY_WORD(test_all, __VA_ARGS__)
#define shmem_test_all_vector(...) WEFT_BY_WORD(test_all_vector, __VA_ARGS__)
#define shmem_test_any(...) WEFT_BY_WORD(test_any, __VA_ARGS__)
#define shmem_test_any_vector(...) WEFT_BY_WORD(test_any_vector, __VA_ARGS__)
#define shmem_test_some(...) WEFT_BY_WORD(test_some, __VA_ARGS__)
#define shmem_test_some_vector(...) WEFT_BY_WORD(test_some_vector, __VA_ARGS__)

#define shmem_broadcast(...) WEFT_BY_SECOND(rma, broadcast, __VA_ARGS__)
#define shmem_collect(...) WEFT_BY_SECOND(rma, collect, __VA_ARGS__)
#define shmem_fcollect(...) WEFT_BY_SECOND(rma, fcollect, __VA_ARGS__)
#define shmem_alltoall(...) WEFT_BY_SECOND(rma, alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) WEFT_BY_SECOND(rma, alltoalls, __VA_ARGS__)
#define shmem_and_reduce(...) WEFT_BY_SECOND(bits, and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) WEFT_BY_SECOND(bits, or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) WEFT_BY_SECOND(bits, xor_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) WEFT_BY_SECOND(order, min_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) WEFT_BY_SECOND(order, max_reduce, __VA_ARGS__)
#define WEFT_BY_SECOND_ARITH(F, ...)                                             \
  _Generic((WEFT_ARG2(__VA_ARGS__)),                                             \
           WEFT_PICK_ANY(arith, F) WEFT_PICK(float _Complex, shmem_complexf_##F) \
               WEFT_PICK(double _Complex, shmem_complexd_##F) WEFT_PICK_ELSE)(__VA_ARGS__)
#define shmem_sum_reduce(...) WEFT_BY_SECOND_ARITH(sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) WEFT_BY_SECOND_ARITH(prod_reduce, __VA_ARGS__)
#define shmem_sum_inscan(...) WEFT_BY_SECOND_ARITH(sum_inscan, __VA_ARGS__)
#define shmem_sum_exscan(...) WEFT_BY_SECOND_ARITH(sum_exscan, __VA_ARGS__)
/* A team, or an active set (deprecated). */
#define shmem_sync(...)                           \
  _Generic((WEFT_ARG1(__VA_ARGS__)), shmem_team_t \
           : shmem_team_sync, default             \
           : shmem_sync)(__VA_ARGS__)

#endif
