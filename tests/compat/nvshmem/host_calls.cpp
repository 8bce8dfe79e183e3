// Every family of host calls, for every type that has it, between neighbours in a ring.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "tests/compat/nvshmem/host_check.hpp"

namespace {

constexpr std::size_t kCount = 5;

int me() { return nvshmem_my_pe(); }
int npes() { return nvshmem_n_pes(); }

// An element that tells whose it is, and which.
template <class T>
T mark(int pe, std::size_t i) {
  const auto number = static_cast<std::uint8_t>(1 + 16 * (pe % 7) + static_cast<int>(i) % 16);
  T value{};
  if constexpr (std::is_arithmetic_v<T>)
    value = static_cast<T>(number);
  else
    std::memcpy(&value, &number, 1);
  return value;
}
template <class T>
std::vector<T> marks(int pe, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = mark<T>(pe, i);
  return values;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
template <class T>
std::vector<T> part(const std::vector<T>& all, std::size_t first, std::size_t count) {
  return std::vector<T>(all.begin() + static_cast<std::ptrdiff_t>(first),
                        all.begin() + static_cast<std::ptrdiff_t>(first + count));
}

// --- put and get ---------------------------------------------------------------------------------

template <class T>
struct Rma {
  void (*put)(T*, const T*, size_t, int);
  void (*put_nbi)(T*, const T*, size_t, int);
  void (*get)(T*, const T*, size_t, int);
  void (*get_nbi)(T*, const T*, size_t, int);
  void (*p)(T*, T, int);
  T (*g)(const T*, int);
  void (*iput)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int);
  void (*iget)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int);
  void (*put_signal)(T*, const T*, size_t, uint64_t*, uint64_t, int, int);
  void (*put_signal_nbi)(T*, const T*, size_t, uint64_t*, uint64_t, int, int);
};

template <class T>
void move(const Rma<T>& calls, std::uint64_t* signal) {
  T* const words = symmetric<T>(8 * kCount);
  const auto mine = marks<T>(me(), kCount), theirs = marks<T>(left(), kCount);
  calls.put(words, mine.data(), kCount, right());
  calls.put_nbi(words + kCount, mine.data(), kCount, right());
  calls.p(words + 2 * kCount, mine[1], right());
  calls.iput(words + 3 * kCount, mine.data(), 2, 1, 3, right());
  nvshmem_barrier_all();
  const auto seen = read(words, 8 * kCount);
  CHECK(same(part(seen, 0, kCount), theirs));
  CHECK(same(part(seen, kCount, kCount), theirs));
  CHECK(same(part(seen, 2 * kCount, 1), part(theirs, 1, 1)));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(same(part(seen, 3 * kCount + 2 * i, 1), part(theirs, i, 1)));
  CHECK(same(part(seen, 3 * kCount + 1, 1), std::vector<T>(1)));

  std::vector<T> got(kCount), later(kCount), every_other(kCount);
  calls.get(got.data(), words, kCount, right());
  calls.get_nbi(later.data(), words, kCount, right());
  calls.iget(every_other.data(), words, 1, 2, 3, right());
  const T one = calls.g(words + 1, right());
  nvshmem_quiet();
  CHECK(same(got, mine));
  CHECK(same(later, mine));
  for (std::size_t i = 0; i < 3; ++i) CHECK(same(part(every_other, i, 1), part(mine, 2 * i, 1)));
  CHECK(std::memcmp(&one, &mine[1], sizeof(T)) == 0);
  nvshmem_barrier_all();

  calls.put_signal(words, mine.data(), kCount, signal, 3, NVSHMEM_SIGNAL_SET, right());
  nvshmem_quiet();
  while (nvshmem_uint64_g(signal, me()) != 3) {
  }
  CHECK(same(read(words, kCount), theirs));
  nvshmem_barrier_all();
  calls.put_signal_nbi(words + kCount, mine.data(), 1, signal, 4, NVSHMEM_SIGNAL_SET, right());
  nvshmem_quiet();
  while (nvshmem_uint64_g(signal, me()) != 4) {
  }
  nvshmem_barrier_all();
  nvshmem_free(words);
}

void move_blocks() {
  auto* const bytes = symmetric<std::uint8_t>(64);
  auto* const signal = symmetric<std::uint64_t>(1);
  const auto mine = marks<std::uint8_t>(me(), 64), theirs = marks<std::uint8_t>(left(), 64);
  const auto test = [&](auto put, auto get, std::size_t width) {
    put(bytes, mine.data(), 2, right());
    nvshmem_barrier_all();
    CHECK(same(read(bytes, 2 * width), part(theirs, 0, 2 * width)));
    std::vector<std::uint8_t> got(2 * width);
    get(got.data(), bytes, 2, right());
    nvshmem_quiet();
    CHECK(same(got, part(mine, 0, 2 * width)));
    nvshmem_barrier_all();
  };
#define TEST_SIZE(S, width)                    \
  test(nvshmem_put##S, nvshmem_get##S, width); \
  test(nvshmem_put##S##_nbi, nvshmem_get##S##_nbi, width);
  TEST_SIZE(8, 1)
  TEST_SIZE(16, 2)
  TEST_SIZE(32, 4)
  TEST_SIZE(64, 8)
  TEST_SIZE(128, 16)
  TEST_SIZE(mem, 1)
#define TEST_STRIDED(S, width)                                                     \
  nvshmem_iput##S(bytes, mine.data(), 2, 1, 2, right());                           \
  nvshmem_barrier_all();                                                           \
  CHECK(same(read(bytes + 2 * (width), (width)), part(theirs, (width), (width)))); \
  {                                                                                \
    std::vector<std::uint8_t> got(2 * (width));                                    \
    nvshmem_iget##S(got.data(), bytes, 1, 2, 2, right());                          \
    CHECK(same(got, part(mine, 0, 2 * (width))));                                  \
  }                                                                                \
  nvshmem_barrier_all();
  TEST_STRIDED(8, 1)
  TEST_STRIDED(16, 2)
  TEST_STRIDED(32, 4)
  TEST_STRIDED(64, 8)
  TEST_STRIDED(128, 16)
  nvshmem_putmem_signal(bytes, mine.data(), 7, signal, 9, NVSHMEM_SIGNAL_SET, right());
  nvshmem_barrier_all();
  CHECK(read(signal, 1)[0] == 9);
  CHECK(same(read(bytes, 7), part(theirs, 0, 7)));
  nvshmem_barrier_all();
  nvshmemx_signal_op(signal, 11, NVSHMEM_SIGNAL_SET, right());
  nvshmem_barrier_all();
  CHECK(read(signal, 1)[0] == 11);
  nvshmem_barrier_all();
  nvshmem_free(signal);
  nvshmem_free(bytes);
}

// --- atomics -------------------------------------------------------------------------------------

template <class T>
struct Amo {
  T (*compare_swap)(T*, T, T, int);
  T (*fetch_inc)(T*, int);
  void (*inc)(T*, int);
  T (*fetch_add)(T*, T, int);
  void (*add)(T*, T, int);
};
template <class T>
struct ExtendedAmo {
  T (*fetch)(const T*, int);
  void (*set)(T*, T, int);
  T (*swap)(T*, T, int);
};
template <class T>
struct BitAmo {
  void (*op)(T*, T, int);
  T (*fetch)(T*, T, int);
};

// All PEs at PE 0's counter.
template <class T>
void count(const Amo<T>& calls) {
  T* const word = symmetric<T>(2);
  calls.inc(word, 0);
  calls.add(word, T{2}, 0);
  nvshmem_quiet();
  calls.fetch_inc(word, 0);
  const T before = calls.fetch_add(word, T{3}, 0);
  CHECK(before >= 4 && before <= static_cast<T>(7 * npes()));
  nvshmem_barrier_all();
  if (me() == 0) CHECK(read(word, 1)[0] == static_cast<T>(7 * npes()));
  CHECK(calls.compare_swap(word + 1, T{5}, T{6}, right()) == T{0});
  CHECK(calls.compare_swap(word + 1, T{0}, T{6}, right()) == T{0});
  CHECK(calls.compare_swap(word + 1, T{0}, T{7}, right()) == T{6});
  nvshmem_barrier_all();
  nvshmem_free(word);
}
template <class T>
void exchange(const ExtendedAmo<T>& calls) {
  T* const word = symmetric<T>(1);
  calls.set(word, T{4}, right());
  nvshmem_quiet();
  CHECK(calls.fetch(word, right()) == T{4});
  CHECK(calls.swap(word, T{5}, right()) == T{4});
  nvshmem_barrier_all();
  CHECK(read(word, 1)[0] == T{5});
  nvshmem_free(word);
}
template <class T>
void bits(const BitAmo<T>& both, const BitAmo<T>& either, const BitAmo<T>& unlike) {
  T* const word = symmetric<T>(1);
  either.op(word, T{0b1100}, right());
  nvshmem_quiet();
  CHECK(either.fetch(word, T{0b0011}, right()) == T{0b1100});
  nvshmem_quiet();
  both.op(word, T{0b1110}, right());
  nvshmem_quiet();
  CHECK(both.fetch(word, T{0b0111}, right()) == T{0b1110});
  nvshmem_quiet();
  unlike.op(word, T{0b0001}, right());
  nvshmem_quiet();
  CHECK(unlike.fetch(word, T{0b1111}, right()) == T{0b0111});
  nvshmem_barrier_all();
  CHECK(read(word, 1)[0] == T{0b1000});
  nvshmem_free(word);
}

// --- waits ---------------------------------------------------------------------------------------

template <class T>
struct Wait {
  void (*until)(T*, int, T);
  int (*test)(T*, int, T);
  void (*all)(T*, size_t, const int*, int, T);
  size_t (*any)(T*, size_t, const int*, int, T);
  size_t (*some)(T*, size_t, size_t*, const int*, int, T);
  void (*all_vector)(T*, size_t, const int*, int, T*);
  size_t (*any_vector)(T*, size_t, const int*, int, T*);
  size_t (*some_vector)(T*, size_t, size_t*, const int*, int, T*);
  int (*test_all)(T*, size_t, const int*, int, T);
  size_t (*test_any)(T*, size_t, const int*, int, T);
  size_t (*test_some)(T*, size_t, size_t*, const int*, int, T);
  int (*test_all_vector)(T*, size_t, const int*, int, T*);
  size_t (*test_any_vector)(T*, size_t, const int*, int, T*);
  size_t (*test_some_vector)(T*, size_t, size_t*, const int*, int, T*);
};

template <class T>
void wait(const Wait<T>& calls, void (*p)(T*, T, int)) {
  T* const words = symmetric<T>(3);
  T wanted[3] = {1, 2, 3};
  const int status[3] = {0, 1, 0};
  size_t indices[3] = {};
  CHECK(calls.test(words, NVSHMEM_CMP_NE, T{0}) == 0);
  CHECK(calls.test_any(words, 3, nullptr, NVSHMEM_CMP_GT, T{0}) == SIZE_MAX);
  CHECK(calls.test_all_vector(words, 3, nullptr, NVSHMEM_CMP_EQ, wanted) == 0);
  nvshmem_barrier_all();
  for (T i = 0; i < 3; ++i) p(words + i, static_cast<T>(i + 1), right());
  nvshmem_quiet();
  calls.until(words + 2, NVSHMEM_CMP_GE, T{3});
  calls.all(words, 3, nullptr, NVSHMEM_CMP_NE, T{0});
  calls.all_vector(words, 3, nullptr, NVSHMEM_CMP_EQ, wanted);
  CHECK(calls.test(words + 1, NVSHMEM_CMP_EQ, T{2}) == 1);
  CHECK(calls.test(words + 1, NVSHMEM_CMP_LE, T{2}) == 1);
  CHECK(calls.test(words + 1, NVSHMEM_CMP_LT, T{2}) == 0);
  CHECK(calls.test(words + 1, NVSHMEM_CMP_GE, T{3}) == 0);
  CHECK(calls.any(words, 3, status, NVSHMEM_CMP_EQ, T{3}) == 2);
  CHECK(calls.any_vector(words, 3, status, NVSHMEM_CMP_EQ, wanted) != 1);
  CHECK(calls.some(words, 3, indices, status, NVSHMEM_CMP_GT, T{0}) == 2 && indices[1] == 2);
  CHECK(calls.some_vector(words, 3, indices, nullptr, NVSHMEM_CMP_EQ, wanted) == 3);
  CHECK(calls.test_all(words, 3, nullptr, NVSHMEM_CMP_GT, T{0}) == 1);
  CHECK(calls.test_any(words, 3, nullptr, NVSHMEM_CMP_EQ, T{2}) == 1);
  CHECK(calls.test_some(words, 3, indices, nullptr, NVSHMEM_CMP_GE, T{2}) == 2 && indices[0] == 1);
  CHECK(calls.test_all_vector(words, 3, nullptr, NVSHMEM_CMP_EQ, wanted) == 1);
  CHECK(calls.test_any_vector(words, 3, nullptr, NVSHMEM_CMP_EQ, wanted) != SIZE_MAX);
  CHECK(calls.test_some_vector(words, 3, indices, status, NVSHMEM_CMP_EQ, wanted) == 2);
  nvshmem_barrier_all();
  nvshmem_free(words);
}

void wait_for_signals() {
  auto* const signal = symmetric<std::uint64_t>(1);
  nvshmemx_signal_op(signal, 5, NVSHMEM_SIGNAL_ADD, right());
  nvshmemx_signal_op(signal, 6, NVSHMEM_SIGNAL_ADD, right());
  nvshmem_quiet();
  CHECK(nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 11) == 11);
  CHECK(nvshmem_signal_fetch(signal) == 11);
  nvshmem_barrier_all();
  nvshmem_free(signal);
}

// --- collectives ---------------------------------------------------------------------------------

template <class T>
struct Move {
  int (*broadcast)(nvshmem_team_t, T*, const T*, size_t, int);
  int (*fcollect)(nvshmem_team_t, T*, const T*, size_t);
  int (*alltoall)(nvshmem_team_t, T*, const T*, size_t);
};

template <class T>
void gather(const Move<T>& calls) {
  const auto n = static_cast<std::size_t>(npes());
  T* const source = symmetric<T>(n * kCount);
  T* const dest = symmetric<T>(n * kCount);
  write(source, marks<T>(me(), n * kCount));
  CHECK(calls.broadcast(NVSHMEM_TEAM_WORLD, dest, source, kCount, npes() - 1) == 0);
  CHECK(same(read(dest, kCount), marks<T>(npes() - 1, kCount)));
  nvshmem_barrier_all();
  CHECK(calls.fcollect(NVSHMEM_TEAM_WORLD, dest, source, kCount) == 0);
  auto got = read(dest, n * kCount);
  for (std::size_t pe = 0; pe < n; ++pe)
    CHECK(same(part(got, pe * kCount, kCount), marks<T>(static_cast<int>(pe), kCount)));
  nvshmem_barrier_all();
  CHECK(calls.alltoall(NVSHMEM_TEAM_WORLD, dest, source, kCount) == 0);
  got = read(dest, n * kCount);
  for (std::size_t pe = 0; pe < n; ++pe)
    CHECK(same(part(got, pe * kCount, kCount),
               part(marks<T>(static_cast<int>(pe), n * kCount),
                    static_cast<std::size_t>(me()) * kCount, kCount)));
  nvshmem_barrier_all();
  nvshmem_free(dest);
  nvshmem_free(source);
}

template <class T>
using Reduce = int (*)(nvshmem_team_t, T*, const T*, size_t);

// PE i brings i + 1 in every element.
template <class T, class Fold>
void reduce(Reduce<T> all, Reduce<T> scatter, Fold fold) {
  const auto n = static_cast<std::size_t>(npes());
  T* const source = symmetric<T>(n * kCount);
  T* const dest = symmetric<T>(n * kCount);
  using Wide = std::conditional_t<weft::SmallFloat<T>::value, float, T>;
  Wide sum{1};
  for (int pe = 1; pe < npes(); ++pe) sum = static_cast<Wide>(fold(sum, static_cast<Wide>(pe + 1)));
  const T wanted = number<T>(sum);
  write(source, std::vector<T>(n * kCount, number<T>(me() + 1)));
  CHECK(all(NVSHMEM_TEAM_WORLD, dest, source, kCount) == 0);
  CHECK(same(read(dest, kCount), std::vector<T>(kCount, wanted)));
  nvshmem_barrier_all();
  CHECK(scatter(NVSHMEM_TEAM_WORLD, dest, source, kCount) == 0);
  CHECK(same(read(dest, kCount), std::vector<T>(kCount, wanted)));
  nvshmem_barrier_all();
  nvshmem_free(dest);
  nvshmem_free(source);
}

// --- the types of each family --------------------------------------------------------------------

// clang-format off: one type a line
#define EVERY_BITWISE_ATOMIC(TYPE)    \
  TYPE(uint, unsigned int)            \
  TYPE(ulong, unsigned long)          \
  TYPE(ulonglong, unsigned long long) \
  TYPE(int32, int32_t)                \
  TYPE(int64, int64_t)                \
  TYPE(uint32, uint32_t)              \
  TYPE(uint64, uint64_t)
#define EVERY_ATOMIC(TYPE)   \
  EVERY_BITWISE_ATOMIC(TYPE) \
  TYPE(int, int)             \
  TYPE(long, long)           \
  TYPE(longlong, long long)  \
  TYPE(size, size_t)         \
  TYPE(ptrdiff, ptrdiff_t)
#define EVERY_EXTENDED(TYPE) \
  EVERY_ATOMIC(TYPE)         \
  TYPE(float, float)         \
  TYPE(double, double)
#define EVERY_WAIT(TYPE) \
  EVERY_ATOMIC(TYPE)     \
  TYPE(short, short)     \
  TYPE(ushort, unsigned short)
#define EVERY_BITWISE(TYPE)           \
  TYPE(uchar, unsigned char)          \
  TYPE(ushort, unsigned short)        \
  TYPE(uint, unsigned int)            \
  TYPE(ulong, unsigned long)          \
  TYPE(ulonglong, unsigned long long) \
  TYPE(int8, int8_t)                  \
  TYPE(int16, int16_t)                \
  TYPE(int32, int32_t)                \
  TYPE(int64, int64_t)                \
  TYPE(uint8, uint8_t)                \
  TYPE(uint16, uint16_t)              \
  TYPE(uint32, uint32_t)              \
  TYPE(uint64, uint64_t)              \
  TYPE(size, size_t)
#define EVERY_NUMBER(TYPE)  \
  EVERY_BITWISE(TYPE)       \
  TYPE(char, char)          \
  TYPE(schar, signed char)  \
  TYPE(short, short)        \
  TYPE(int, int)            \
  TYPE(long, long)          \
  TYPE(longlong, long long) \
  TYPE(float, float)        \
  TYPE(double, double)      \
  TYPE(half, half)          \
  TYPE(bfloat16, __nv_bfloat16)
#define EVERY_TYPE(TYPE) \
  EVERY_NUMBER(TYPE)     \
  TYPE(ptrdiff, ptrdiff_t)
// clang-format on

void move_all() {
  auto* const signal = symmetric<std::uint64_t>(1);
#define TEST(N, T)                                                                             \
  move<T>({nvshmem_##N##_put, nvshmem_##N##_put_nbi, nvshmem_##N##_get, nvshmem_##N##_get_nbi, \
           nvshmem_##N##_p, nvshmem_##N##_g, nvshmem_##N##_iput, nvshmem_##N##_iget,           \
           nvshmem_##N##_put_signal, nvshmem_##N##_put_signal_nbi},                            \
          signal);
  EVERY_TYPE(TEST)
#undef TEST
  nvshmem_free(signal);
}

void update_all() {
#define TEST(N, T)                                                             \
  count<T>({nvshmem_##N##_atomic_compare_swap, nvshmem_##N##_atomic_fetch_inc, \
            nvshmem_##N##_atomic_inc, nvshmem_##N##_atomic_fetch_add, nvshmem_##N##_atomic_add});
  EVERY_ATOMIC(TEST)
#undef TEST
#define TEST(N, T) \
  exchange<T>({nvshmem_##N##_atomic_fetch, nvshmem_##N##_atomic_set, nvshmem_##N##_atomic_swap});
  EVERY_EXTENDED(TEST)
#undef TEST
#define TEST(N, T)                                                    \
  bits<T>({nvshmem_##N##_atomic_and, nvshmem_##N##_atomic_fetch_and}, \
          {nvshmem_##N##_atomic_or, nvshmem_##N##_atomic_fetch_or},   \
          {nvshmem_##N##_atomic_xor, nvshmem_##N##_atomic_fetch_xor});
  EVERY_BITWISE_ATOMIC(TEST)
#undef TEST
}

void wait_all() {
#define TEST(N, T)                                                                                \
  wait<T>({nvshmem_##N##_wait_until, nvshmem_##N##_test, nvshmem_##N##_wait_until_all,            \
           nvshmem_##N##_wait_until_any, nvshmem_##N##_wait_until_some,                           \
           nvshmem_##N##_wait_until_all_vector, nvshmem_##N##_wait_until_any_vector,              \
           nvshmem_##N##_wait_until_some_vector, nvshmem_##N##_test_all, nvshmem_##N##_test_any,  \
           nvshmem_##N##_test_some, nvshmem_##N##_test_all_vector, nvshmem_##N##_test_any_vector, \
           nvshmem_##N##_test_some_vector},                                                       \
          nvshmem_##N##_p);
  EVERY_WAIT(TEST)
#undef TEST
  wait_for_signals();
}

void gather_all() {
#define TEST(N, T) \
  gather<T>({nvshmem_##N##_broadcast, nvshmem_##N##_fcollect, nvshmem_##N##_alltoall});
  EVERY_TYPE(TEST)
#undef TEST
  auto* const bytes = symmetric<std::uint8_t>(64);
  write(bytes, std::vector<std::uint8_t>(1, static_cast<std::uint8_t>(me())));
  CHECK(nvshmem_fcollectmem(NVSHMEM_TEAM_WORLD, bytes + 16, bytes, 1) == 0);
  CHECK(read(bytes + 16, static_cast<std::size_t>(npes())).back() == npes() - 1);
  nvshmem_barrier_all();
  CHECK(nvshmem_broadcastmem(NVSHMEM_TEAM_WORLD, bytes + 16, bytes, 1, 0) == 0);
  CHECK(read(bytes + 16, 1)[0] == 0);
  nvshmem_barrier_all();
  nvshmem_free(bytes);
}

void reduce_all() {
#define TEST(N, T)                                                       \
  reduce<T>(nvshmem_##N##_sum_reduce, nvshmem_##N##_sum_reducescatter,   \
            [](auto a, auto b) { return a + b; });                       \
  reduce<T>(nvshmem_##N##_prod_reduce, nvshmem_##N##_prod_reducescatter, \
            [](auto a, auto b) { return a * b; });                       \
  reduce<T>(nvshmem_##N##_min_reduce, nvshmem_##N##_min_reducescatter,   \
            [](auto a, auto b) { return std::min(a, b); });              \
  reduce<T>(nvshmem_##N##_max_reduce, nvshmem_##N##_max_reducescatter,   \
            [](auto a, auto b) { return std::max(a, b); });
  EVERY_NUMBER(TEST)
#undef TEST
#define TEST(N, T)                                                     \
  reduce<T>(nvshmem_##N##_and_reduce, nvshmem_##N##_and_reducescatter, \
            [](auto a, auto b) { return a & b; });                     \
  reduce<T>(nvshmem_##N##_or_reduce, nvshmem_##N##_or_reducescatter,   \
            [](auto a, auto b) { return a | b; });                     \
  reduce<T>(nvshmem_##N##_xor_reduce, nvshmem_##N##_xor_reducescatter, \
            [](auto a, auto b) { return a ^ b; });
  EVERY_BITWISE(TEST)
#undef TEST
}

}  // namespace

int main() {
  nvshmem_init();
  move_all();
  move_blocks();
  update_all();
  wait_all();
  gather_all();
  reduce_all();
  nvshmem_finalize();
  return exit_status();
}
