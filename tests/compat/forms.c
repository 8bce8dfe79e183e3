/* The type-generic names with each type, with and without a context or a team: C11 selects them, C++ overloads
 * them, and this text is both. check_forms.sh compiles it in many ways and runs each at 2 PEs. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

static int findings = 0;
static const char *form = "";

#define CHECK(holds)                                                              \
  do {                                                                            \
    if (!(holds)) {                                                               \
      ++findings;                                                                 \
      printf("PE %d: %s: %s (line %d)\n", shmem_my_pe(), form, #holds, __LINE__); \
    }                                                                             \
  } while (0)

#ifdef __cplusplus
typedef std::complex<float> complexf;
typedef std::complex<double> complexd;
#else
#include <complex.h>
typedef float _Complex complexf;
typedef double _Complex complexd;
#endif
/* The types of C, which C++ programs use as well. */
__extension__ typedef float _Complex c_complexf;
__extension__ typedef double _Complex c_complexd;

/* Symmetric: only the PE before me writes to mine, so that I read back from its successor what I wrote there. */
static void *remote_words, *own_words, *more_words;
static uint64_t *signal_words;
static shmem_ctx_t ctx;
static shmem_team_t team;
static c_complexf work_complexf[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static c_complexd work_complexd[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long p_sync[SHMEM_REDUCE_SYNC_SIZE]; /* of SHMEM_SYNC_VALUE, which is 0 */
static int pe; /* the next one */

static void settle(void) {
  shmem_quiet();
  shmem_ctx_quiet(ctx);
}

/* The first argument, with its comma: none, or a context. */
#define WITHOUT
#define WITH ctx,

#define RMA(T, X)                                                     \
  do {                                                                \
    T *const far = (T *)remote_words;                                 \
    const T from[3] = {(T)3, (T)4, (T)5};                             \
    T back[3] = {(T)0, (T)0, (T)0};                                   \
    form = #T " " #X;                                                 \
    shmem_put(X far, from, 3, pe);                                    \
    settle();                                                         \
    shmem_get(X back, far, 3, pe);                                    \
    CHECK(back[0] == (T)3 && back[1] == (T)4 && back[2] == (T)5);     \
    shmem_p(X far, (T)9, pe);                                         \
    settle();                                                         \
    CHECK(shmem_g(X far, pe) == (T)9);                                \
    shmem_put_nbi(X far, from + 1, 1, pe);                            \
    settle();                                                         \
    shmem_get_nbi(X back, far, 2, pe);                                \
    settle();                                                         \
    CHECK(back[0] == (T)4 && back[1] == (T)4);                        \
    shmem_iput(X far, from, 2, 1, 2, pe);                             \
    settle();                                                         \
    shmem_iget(X back, far, 1, 2, 2, pe);                             \
    CHECK(back[0] == (T)3 && back[1] == (T)4);                        \
    shmem_ibput(X far, from, 2, 2, 1, 2, pe);                         \
    settle();                                                         \
    shmem_ibget(X back, far, 1, 2, 1, 2, pe);                         \
    CHECK(back[0] == (T)3 && back[1] == (T)5);                        \
    shmem_put_signal(X far, from, 1, signal_words, 6, SHMEM_SIGNAL_SET, pe);     \
    settle();                                                         \
    shmem_put_signal_nbi(X far + 1, from, 1, signal_words, 1, SHMEM_SIGNAL_ADD, pe); \
    settle();                                                         \
    CHECK(shmem_uint64_g(signal_words, pe) == 7);                     \
    CHECK(shmem_g(X far, pe) == (T)3 && shmem_g(X far + 1, pe) == (T)3); \
  } while (0)

#define EXTENDED_AMO(T, X)                                \
  do {                                                    \
    T *const far = (T *)remote_words;                     \
    T old = (T)0;                                         \
    form = "atomic " #T " " #X;                           \
    shmem_atomic_set(X far, (T)5, pe);                    \
    settle();                                             \
    CHECK(shmem_atomic_fetch(X far, pe) == (T)5);         \
    CHECK(shmem_atomic_swap(X far, (T)6, pe) == (T)5);    \
    shmem_atomic_swap_nbi(X &old, far, (T)7, pe);         \
    settle();                                             \
    CHECK(old == (T)6);                                   \
    shmem_atomic_fetch_nbi(X &old, far, pe);              \
    settle();                                             \
    CHECK(old == (T)7);                                   \
  } while (0)

#define AMO(T, X)                                                  \
  do {                                                             \
    T *const far = (T *)remote_words;                              \
    T old = (T)0;                                                  \
    form = "atomic " #T " " #X;                                    \
    shmem_atomic_set(X far, (T)7, pe);                             \
    settle();                                                      \
    shmem_atomic_add(X far, (T)3, pe);                             \
    shmem_atomic_inc(X far, pe);                                   \
    settle();                                                      \
    CHECK(shmem_atomic_fetch_add(X far, (T)2, pe) == (T)11);       \
    CHECK(shmem_atomic_fetch_inc(X far, pe) == (T)13);             \
    CHECK(shmem_atomic_compare_swap(X far, (T)14, (T)20, pe) == (T)14); \
    shmem_atomic_fetch_add_nbi(X &old, far, (T)1, pe);             \
    settle();                                                      \
    CHECK(old == (T)20);                                           \
    shmem_atomic_fetch_inc_nbi(X &old, far, pe);                   \
    settle();                                                      \
    CHECK(old == (T)21);                                           \
    shmem_atomic_compare_swap_nbi(X &old, far, (T)22, (T)1, pe);   \
    settle();                                                      \
    CHECK(old == (T)22 && shmem_atomic_fetch(X far, pe) == (T)1);  \
  } while (0)

#define BITS(T, X)                                              \
  do {                                                          \
    T *const far = (T *)remote_words;                           \
    T old = (T)0;                                               \
    form = "bitwise " #T " " #X;                                \
    shmem_atomic_set(X far, (T)12, pe);                         \
    settle();                                                   \
    shmem_atomic_and(X far, (T)10, pe); /* 8 */                 \
    settle();                                                   \
    shmem_atomic_or(X far, (T)1, pe); /* 9 */                   \
    settle();                                                   \
    shmem_atomic_xor(X far, (T)3, pe); /* 10 */                 \
    settle();                                                   \
    CHECK(shmem_atomic_fetch_and(X far, (T)6, pe) == (T)10);    \
    CHECK(shmem_atomic_fetch_or(X far, (T)4, pe) == (T)2);      \
    CHECK(shmem_atomic_fetch_xor(X far, (T)1, pe) == (T)6);     \
    shmem_atomic_fetch_and_nbi(X &old, far, (T)5, pe);          \
    settle();                                                   \
    CHECK(old == (T)7);                                         \
    shmem_atomic_fetch_or_nbi(X &old, far, (T)2, pe);           \
    settle();                                                   \
    CHECK(old == (T)5);                                         \
    shmem_atomic_fetch_xor_nbi(X &old, far, (T)7, pe);          \
    settle();                                                   \
    CHECK(old == (T)7 && shmem_atomic_fetch(X far, pe) == (T)0); \
  } while (0)

/* The names of OpenSHMEM 1.3. */
#define OLD_EXTENDED_AMO(T)                     \
  do {                                          \
    T *const far = (T *)remote_words;           \
    form = "old atomic " #T;                    \
    shmem_set(far, (T)5, pe);                   \
    settle();                                   \
    CHECK(shmem_fetch(far, pe) == (T)5);        \
    CHECK(shmem_swap(far, (T)6, pe) == (T)5);   \
  } while (0)
#define OLD_AMO(T)                                    \
  do {                                                \
    T *const far = (T *)remote_words;                 \
    OLD_EXTENDED_AMO(T);                              \
    shmem_add(far, (T)1, pe);                         \
    shmem_inc(far, pe);                               \
    settle();                                         \
    CHECK(shmem_fadd(far, (T)2, pe) == (T)8);         \
    CHECK(shmem_finc(far, pe) == (T)10);              \
    CHECK(shmem_cswap(far, (T)11, (T)1, pe) == (T)11); \
  } while (0)

#define WAIT_ONE(T)                                     \
  do {                                                  \
    T *const own = (T *)own_words;                      \
    form = "wait " #T;                                  \
    own[0] = (T)1;                                      \
    own[1] = (T)2;                                      \
    shmem_wait_until(own, SHMEM_CMP_EQ, (T)1);          \
    CHECK(shmem_test(own, SHMEM_CMP_LT, (T)2) == 1);    \
    CHECK(shmem_test(own, SHMEM_CMP_GT, (T)2) == 0);    \
  } while (0)
#define WAIT(T)                                                                             \
  do {                                                                                      \
    T *const own = (T *)own_words;                                                          \
    T values[2] = {(T)1, (T)2};                                                             \
    const int none[2] = {0, 0};                                                             \
    size_t at[2] = {9, 9};                                                                  \
    WAIT_ONE(T);                                                                            \
    shmem_wait_until_all(own, 2, none, SHMEM_CMP_GE, (T)1);                                 \
    shmem_wait_until_all_vector(own, 2, none, SHMEM_CMP_EQ, values);                        \
    CHECK(shmem_wait_until_any(own, 2, none, SHMEM_CMP_EQ, (T)2) == 1);                     \
    CHECK(shmem_wait_until_any_vector(own, 2, none, SHMEM_CMP_EQ, values) < 2);             \
    CHECK(shmem_wait_until_some(own, 2, at, none, SHMEM_CMP_EQ, (T)2) == 1 && at[0] == 1);  \
    CHECK(shmem_wait_until_some_vector(own, 2, at, none, SHMEM_CMP_EQ, values) == 2);       \
    CHECK(shmem_test_all(own, 2, none, SHMEM_CMP_EQ, (T)1) == 0);                           \
    CHECK(shmem_test_all_vector(own, 2, none, SHMEM_CMP_EQ, values) == 1);                  \
    CHECK(shmem_test_any(own, 2, none, SHMEM_CMP_EQ, (T)2) == 1);                           \
    CHECK(shmem_test_any_vector(own, 2, none, SHMEM_CMP_EQ, values) < 2);                   \
    CHECK(shmem_test_some(own, 2, at, none, SHMEM_CMP_NE, (T)2) == 1 && at[0] == 0);        \
    CHECK(shmem_test_some_vector(own, 2, at, none, SHMEM_CMP_EQ, values) == 2);             \
  } while (0)

#define MOVE_TOGETHER(T)                                                \
  do {                                                                  \
    T *const dst = (T *)more_words;                                     \
    T *const src = (T *)own_words;                                      \
    const int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);  \
    form = "team " #T;                                                  \
    shmem_team_sync(team);                                              \
    src[0] = src[1] = (T)(me + 1);                                      \
    CHECK(shmem_broadcast(team, dst, src, 1, n - 1) == 0);              \
    CHECK(dst[0] == (T)n);                                              \
    CHECK(shmem_fcollect(team, dst, src, 1) == 0);                      \
    CHECK(dst[0] == (T)1 && dst[n - 1] == (T)n);                        \
    CHECK(shmem_collect(team, dst, src, (size_t)(me == 0)) == 0);       \
    CHECK(dst[0] == (T)1);                                              \
    shmem_team_sync(team);                                              \
    CHECK(shmem_alltoall(team, dst, src, 1) == 0);                      \
    CHECK(dst[0] == (T)1 && dst[n - 1] == (T)n);                        \
    CHECK(shmem_alltoalls(team, dst, src, 1, 1, 1) == 0);               \
    CHECK(dst[0] == (T)1 && dst[n - 1] == (T)n);                        \
    shmem_team_sync(team);                                              \
  } while (0)

#define SUM(T)                                                 \
  do {                                                         \
    T *const dst = (T *)more_words;                            \
    T *const src = (T *)own_words;                             \
    const int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team); \
    form = "sum " #T;                                          \
    shmem_team_sync(team);                                     \
    src[0] = (T)2;                                             \
    CHECK(shmem_sum_reduce(team, dst, src, 1) == 0);           \
    CHECK(dst[0] == (T)(2 * n));                               \
    CHECK(shmem_prod_reduce(team, dst, src, 1) == 0);          \
    CHECK(dst[0] == (T)(1 << n));                              \
    CHECK(shmem_sum_inscan(team, dst, src, 1) == 0);           \
    CHECK(dst[0] == (T)(2 * (me + 1)));                        \
    CHECK(shmem_sum_exscan(team, dst, src, 1) == 0);           \
    CHECK(dst[0] == (T)(2 * me));                              \
    shmem_team_sync(team);                                     \
  } while (0)
#define ORDER(T)                                               \
  do {                                                         \
    T *const dst = (T *)more_words;                            \
    T *const src = (T *)own_words;                             \
    const int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team); \
    SUM(T);                                                    \
    src[0] = (T)(me + 1);                                      \
    CHECK(shmem_max_reduce(team, dst, src, 1) == 0);           \
    CHECK(dst[0] == (T)n);                                     \
    CHECK(shmem_min_reduce(team, dst, src, 1) == 0);           \
    CHECK(dst[0] == (T)1);                                     \
    shmem_team_sync(team);                                     \
  } while (0)
#define REDUCE_BITS(T)                                         \
  do {                                                         \
    T *const dst = (T *)more_words;                            \
    T *const src = (T *)own_words;                             \
    const int me = shmem_team_my_pe(team);                     \
    ORDER(T);                                                  \
    src[0] = (T)(me == 0 ? 3 : 2);                             \
    CHECK(shmem_and_reduce(team, dst, src, 1) == 0);           \
    CHECK(dst[0] == (T)2);                                     \
    CHECK(shmem_or_reduce(team, dst, src, 1) == 0);            \
    CHECK(dst[0] == (T)3);                                     \
    src[0] = (T)(me == 0 ? 3 : 0);                             \
    shmem_team_sync(team);                                     \
    CHECK(shmem_xor_reduce(team, dst, src, 1) == 0);           \
    CHECK(dst[0] == (T)3);                                     \
    shmem_team_sync(team);                                     \
  } while (0)

#define BOTH(F, T) F(T, WITHOUT); F(T, WITH)

#define RMA_TYPES(F)                                                                                \
  F(float); F(double); F(long double); F(char); F(signed char); F(short); F(int); F(long);          \
  F(long long); F(unsigned char); F(unsigned short); F(unsigned int); F(unsigned long);             \
  F(unsigned long long); F(int8_t); F(int16_t); F(int32_t); F(int64_t); F(uint8_t); F(uint16_t);    \
  F(uint32_t); F(uint64_t); F(size_t); F(ptrdiff_t)
#define AMO_TYPES(F)                                                                              \
  F(int); F(long); F(long long); F(unsigned int); F(unsigned long); F(unsigned long long);        \
  F(int32_t); F(int64_t); F(uint32_t); F(uint64_t); F(size_t); F(ptrdiff_t)
#define BITWISE_TYPES(F)                                                                          \
  F(unsigned int); F(unsigned long); F(unsigned long long); F(int32_t); F(int64_t); F(uint32_t);  \
  F(uint64_t)
#define REDUCE_BITS_TYPES(F)                                                                      \
  F(unsigned char); F(unsigned short); F(unsigned int); F(unsigned long); F(unsigned long long);  \
  F(int8_t); F(int16_t); F(int32_t); F(int64_t); F(uint8_t); F(uint16_t); F(uint32_t);            \
  F(uint64_t); F(size_t)

#define RMA_BOTH(T) BOTH(RMA, T)
#define AMO_BOTH(T) BOTH(AMO, T)
#define EXTENDED_AMO_BOTH(T) BOTH(EXTENDED_AMO, T)
#define BITS_BOTH(T) BOTH(BITS, T)

static void one_sided(void) {
  RMA_TYPES(RMA_BOTH);
  AMO_TYPES(EXTENDED_AMO_BOTH);
  AMO_TYPES(AMO_BOTH);
  EXTENDED_AMO_BOTH(float);
  EXTENDED_AMO_BOTH(double);
  BITWISE_TYPES(BITS_BOTH);
  OLD_EXTENDED_AMO(float);
  OLD_EXTENDED_AMO(double);
  AMO_TYPES(OLD_AMO);
}

static void waits_and_signals(void) {
  AMO_TYPES(WAIT);
  WAIT(short);
  WAIT(unsigned short);
  form = "signals";
  shmem_signal_set(signal_words + 1, 1, pe);
  settle();
  shmem_signal_set(ctx, signal_words + 1, 5, pe);
  settle();
  shmem_signal_add(signal_words + 1, 2, pe);
  settle();
  shmem_signal_add(ctx, signal_words + 1, 3, pe);
  settle();
  CHECK(shmem_uint64_g(signal_words + 1, pe) == 10);
  shmemx_signal_add(signal_words + 1, 2, pe);
  settle();
  CHECK(shmem_uint64_g(signal_words + 1, pe) == 12);
}

/* By the names that other implementations had for what has become part of 1.6. */
static void extensions(void) {
  const long from[3] = {3, 4, 5};
  long *const far = (long *)remote_words, *const dst = (long *)more_words, *const src = (long *)own_words;
  long back[2] = {0, 0};
  int is_there = 0;
  form = "shmemx";
  shmemx_query_initialized(&is_there);
  CHECK(is_there == 1);
  shmemx_long_ibput(far, from, 2, 2, 1, 2, pe);
  settle();
  shmemx_ctx_long_ibget(ctx, back, far, 1, 2, 1, 2, pe);
  CHECK(back[0] == 3 && back[1] == 5);
  shmem_team_sync(team);
  src[0] = 2;
  CHECK(shmemx_long_sum_inscan(team, dst, src, 1) == 0);
  CHECK(dst[0] == 2 * (shmem_team_my_pe(team) + 1));
  shmem_team_sync(team);
}

/* The typed names with the types of C. */
#define C_COMPLEX(N)                                                             \
  do {                                                                           \
    c_##N *const dst = (c_##N *)more_words;                                      \
    c_##N *const src = (c_##N *)own_words;                                       \
    const int n = shmem_team_n_pes(team), me = shmem_team_my_pe(team);           \
    form = "c_" #N;                                                              \
    shmem_team_sync(team);                                                       \
    src[0] = (c_##N)2;                                                           \
    CHECK(shmem_##N##_sum_reduce(team, dst, src, 1) == 0);                       \
    CHECK(dst[0] == (c_##N)(2 * n));                                             \
    CHECK(shmem_##N##_prod_reduce(team, dst, src, 1) == 0);                      \
    CHECK(dst[0] == (c_##N)(1 << n));                                            \
    CHECK(shmem_##N##_sum_inscan(team, dst, src, 1) == 0);                       \
    CHECK(dst[0] == (c_##N)(2 * (me + 1)));                                      \
    CHECK(shmemx_##N##_sum_exscan(team, dst, src, 1) == 0);                      \
    CHECK(dst[0] == (c_##N)(2 * me));                                            \
    shmem_team_sync(team);                                                       \
    shmem_##N##_sum_to_all(dst, src, 1, 0, 0, shmem_n_pes(), work_##N, p_sync);  \
    CHECK(dst[0] == (c_##N)(2 * shmem_n_pes()));                                 \
    shmem_barrier_all();                                                         \
    shmem_##N##_prod_to_all(dst, src, 1, 0, 0, shmem_n_pes(), work_##N, p_sync); \
    CHECK(dst[0] == (c_##N)(1 << shmem_n_pes()));                                \
    shmem_barrier_all();                                                         \
  } while (0)

static void together(void) {
  static const int members = 2;
  RMA_TYPES(MOVE_TOGETHER);
  REDUCE_BITS_TYPES(REDUCE_BITS);
  ORDER(char);
  ORDER(signed char);
  ORDER(short);
  ORDER(int);
  ORDER(long);
  ORDER(long long);
  ORDER(ptrdiff_t);
  ORDER(float);
  ORDER(double);
  ORDER(long double);
  SUM(complexf);
  SUM(complexd);
  SUM(c_complexf);
  SUM(c_complexd);
  C_COMPLEX(complexf);
  C_COMPLEX(complexd);
  form = "sync";
  CHECK(shmem_sync(team) == 0);
  if (shmem_n_pes() >= members) {
    long *const sync_words = (long *)shmem_malloc(SHMEM_SYNC_SIZE * sizeof(long));
    size_t i;
    for (i = 0; i < SHMEM_SYNC_SIZE; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    shmem_sync(0, 0, shmem_n_pes(), sync_words); /* the older form */
    shmem_barrier_all();
    shmem_free(sync_words);
  }
}

int main(void) {
  shmem_init();
  pe = (shmem_my_pe() + 1) % shmem_n_pes();
  remote_words = shmem_calloc(64, 16);
  own_words = shmem_calloc(64, 16);
  more_words = shmem_calloc(64, 16);
  signal_words = (uint64_t *)shmem_calloc(2, sizeof(uint64_t));
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  one_sided();
  shmem_barrier_all();
  waits_and_signals();
  team = SHMEM_TEAM_WORLD;
  together();
  extensions();
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team) == 0);
  together();
  shmem_team_destroy(team);
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  if (findings != 0) printf("PE: %d findings\n", findings);
  return findings != 0;
}
