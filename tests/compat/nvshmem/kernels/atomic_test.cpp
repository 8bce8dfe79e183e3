// Atomics of every family on a peer's words.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/compat/nvshmem/kernels/calls.hpp"

namespace weft::test {
namespace {

using namespace nvshmem::kernels;

class NvshmemAtomicTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvshmemAtomicTest, ::testing::ValuesIn(kWays), way_name);

constexpr int kPes = 3;
constexpr int kRounds = 4;
constexpr int kCallers = kPes * static_cast<int>(kThreads);

// Everybody counts on PE 0; the sums of what was there before tell that no two saw the same.
template <class T, class Count>
void check_counts(Way way, T step, Count count) {
  on_pes_with_module_state(way, kPes, [&](Pe& pe, WithModuleState& pictured) {
    T* word = pe.allocate<T>(2);
    T* before = pe.allocate<T>(kThreads);
    std::fill_n(word, 2, T{0});
    std::fill_n(before, kThreads, T{0});
    pe.barrier();
    pictured.run(kThreads, [=] {
      for (int i = 0; i < kRounds; ++i) before[dev::thread_rank()] += count(word, step);
      nvshmem_quiet();
    });
    pe.barrier();
    T* sums = pe.allocate<T>(kPes);
    pictured.run(1, [=] {
      T sum{0};
      for (unsigned i = 0; i < kThreads; ++i) sum += before[i];
      nvshmem_putmem(sums + nvshmem_my_pe(), &sum, sizeof(T), 0);
      nvshmem_quiet();
    });
    pe.barrier();
    if (pe.pe() != 0) return;
    const int calls = kCallers * kRounds;
    EXPECT_EQ(static_cast<T>(calls) * step, word[0]);
    EXPECT_EQ(static_cast<T>(calls) * step, word[1]);
    EXPECT_EQ(static_cast<T>(calls * (calls - 1) / 2) * step, sums[0] + sums[1] + sums[2]);
  });
}

#define WEFT_COUNTS(N, T)                                                \
  TEST_P(NvshmemAtomicTest, N##Counts) {                                 \
    check_counts<T>(GetParam(), static_cast<T>(3), [](T* word, T step) { \
      nvshmem_##N##_atomic_add(word + 1, step, 0);                       \
      return nvshmem_##N##_atomic_fetch_add(word, step, 0);              \
    });                                                                  \
    check_counts<T>(GetParam(), static_cast<T>(1), [](T* word, T) {      \
      nvshmem_##N##_atomic_inc(word + 1, 0);                             \
      return nvshmem_##N##_atomic_fetch_inc(word, 0);                    \
    });                                                                  \
  }
WEFT_COUNTS(int, int)
WEFT_COUNTS(ulonglong, unsigned long long)
WEFT_COUNTS(ptrdiff, std::ptrdiff_t)

#define WEFT_FLOAT_COUNTS(N, T)                                             \
  TEST_P(NvshmemAtomicTest, N##Counts) {                                    \
    check_counts<T>(GetParam(), static_cast<T>(0.25), [](T* word, T step) { \
      nvshmemx_##N##_atomic_add(word + 1, step, 0);                         \
      return nvshmemx_##N##_atomic_fetch_add(word, step, 0);                \
    });                                                                     \
  }
WEFT_FLOAT_COUNTS(float, float)
WEFT_FLOAT_COUNTS(double, double)

// A thread makes the calls of `body` on a word of its next PE, one after the other; `wanted` is
// what each returns.
template <class T, class Body>
void check_results(Way way, Body body, const std::vector<T>& wanted) {
  on_pes_with_module_state(way, kPes, [&](Pe& pe, WithModuleState& pictured) {
    T* word = pe.allocate<T>(1);
    T* seen = pe.allocate<T>(wanted.size());
    *word = T{1};
    pe.barrier();
    const int next = pe.next();
    pictured.run(1, [=] { body(word, seen, next); });
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(wanted[i], seen[i]) << i;
    pe.barrier();
  });
}

#define WEFT_SWAPS(N, T)                                                 \
  TEST_P(NvshmemAtomicTest, N##Swaps) {                                  \
    check_results<T>(GetParam(),                                         \
                     [](T* word, T* seen, int pe) {                      \
                       seen[0] = nvshmem_##N##_atomic_fetch(word, pe);   \
                       nvshmem_##N##_atomic_set(word, 7, pe);            \
                       nvshmem_fence();                                  \
                       seen[1] = nvshmem_##N##_atomic_swap(word, 9, pe); \
                       seen[2] = nvshmem_##N##_atomic_fetch(word, pe);   \
                     },                                                  \
                     {1, 7, 9});                                         \
  }
WEFT_SWAPS(long, long)
WEFT_SWAPS(float, float)
WEFT_SWAPS(double, double)

#define WEFT_COMPARES(N, T)                                                         \
  TEST_P(NvshmemAtomicTest, N##Compares) {                                          \
    check_results<T>(GetParam(),                                                    \
                     [](T* word, T* seen, int pe) {                                 \
                       seen[0] = nvshmem_##N##_atomic_compare_swap(word, 1, 5, pe); \
                       seen[1] = nvshmem_##N##_atomic_compare_swap(word, 1, 6, pe); \
                       seen[2] = nvshmem_##N##_atomic_fetch(word, pe);              \
                     },                                                             \
                     {1, 5, 5});                                                    \
  }
WEFT_COMPARES(uint, unsigned)
WEFT_COMPARES(size, std::size_t)

#define WEFT_BITWISE(N, T)                                                      \
  TEST_P(NvshmemAtomicTest, N##Bits) {                                          \
    check_results<T>(GetParam(),                                                \
                     [](T* word, T* seen, int pe) {                             \
                       nvshmem_##N##_atomic_or(word, 0x6, pe);                  \
                       nvshmem_fence();                                         \
                       seen[0] = nvshmem_##N##_atomic_fetch_and(word, 0xd, pe); \
                       nvshmem_##N##_atomic_xor(word, 0xf, pe);                 \
                       nvshmem_fence();                                         \
                       seen[1] = nvshmem_##N##_atomic_fetch_or(word, 0x10, pe); \
                       nvshmem_##N##_atomic_and(word, 0x12, pe);                \
                       nvshmem_fence();                                         \
                       seen[2] = nvshmem_##N##_atomic_fetch_xor(word, 0x3, pe); \
                       seen[3] = nvshmem_##N##_atomic_fetch(word, pe);          \
                     },                                                         \
                     {0x7, 0xa, 0x12, 0x11});                                   \
  }
WEFT_BITWISE(uint32, std::uint32_t)
WEFT_BITWISE(int64, std::int64_t)

}  // namespace
}  // namespace weft::test
