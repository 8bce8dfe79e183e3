// Collectives over the world and over a smaller team, at every scope, short and long.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/compat/nvshmem/kernels/calls.hpp"

namespace weft::test {
namespace {

using namespace nvshmem::kernels;

class NvshmemCollectiveTest : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, NvshmemCollectiveTest, ::testing::ValuesIn(kWays), way_name);

constexpr int kPes = 3;
constexpr std::size_t kMost = 700;

// Small, so that products and 16-bit floats are exact.
int number(int rank, std::size_t i) {
  return static_cast<int>((i + 2 * static_cast<std::size_t>(rank)) % 5) + 1;
}
template <class T>
T made(int value) {
  return static_cast<T>(value);
}
template <>
__nv_bfloat16 made(int value) {
  return as_bfloat16(static_cast<float>(value));
}
template <class T>
double shown(T value) {
  return static_cast<double>(value);
}
template <>
double shown(__nv_bfloat16 value) {
  return as_float(value);
}

// The callers of a block: one thread, one warp, all.
bool calls(int scope) { return my_group(scope) == 0; }

// `call(scope, team, dst, src, count)` on every team, scope and count; wanted(rank, size, i, count)
// is element i of what a member gets, `times` the blocks of `count` that it gets, 0: one from each.
template <class T, class Call, class Wanted>
void check(Way way, int times, Call call, Wanted wanted) {
  on_pes_with_module_state(way, kPes, [&](Pe& pe, WithModuleState& pictured) {
    T* dst = pe.allocate<T>(kMost * kPes);
    T* src = pe.allocate<T>(kMost * kPes);
    int* code = pe.allocate<int>(1);
    for (nvshmem_team_t team : {NVSHMEM_TEAM_WORLD + 0, kEven}) {
      const int size = team == kEven ? 2 : kPes;
      const int rank = team == kEven ? pe.pe() / 2 : pe.pe();
      for (int scope = 0; scope < kScopes; ++scope)
        for (std::size_t count : {std::size_t{5}, kMost}) {
          for (std::size_t i = 0; i < kMost * kPes; ++i) {
            src[i] = made<T>(number(rank, i));
            dst[i] = made<T>(99);
          }
          *code = -1;
          pe.barrier();
          if (team == kEven && pe.pe() % 2 != 0) continue;
          pictured.run(kThreads, [=] {
            if (!calls(scope)) return;
            const int got = call(scope, team, dst, src, count);
            __atomic_store_n(code, got, __ATOMIC_RELAXED);  // by all that called
          });
          EXPECT_EQ(0, *code);
          const std::size_t all = count * static_cast<std::size_t>(times == 0 ? size : times);
          for (std::size_t i = 0; i < all; ++i)
            ASSERT_EQ(wanted(rank, size, i, count), shown(dst[i])) << i << " of team " << team;
          if (all < kMost * kPes) EXPECT_EQ(99, shown(dst[all]));
        }
    }
  });
}

#define WEFT_CALL(stem, ...)                                                          \
  [](int scope, nvshmem_team_t team, auto* dst, const auto* src, std::size_t count) { \
    return WEFT_AT_SCOPE(scope, stem, team, dst, src, count __VA_ARGS__);             \
  }

double broadcast_wanted(int, int, std::size_t i, std::size_t) { return number(1, i); }
double fcollect_wanted(int, int, std::size_t i, std::size_t count) {
  return number(static_cast<int>(i / count), i % count);
}
double alltoall_wanted(int rank, int, std::size_t i, std::size_t count) {
  return number(static_cast<int>(i / count), static_cast<std::size_t>(rank) * count + i % count);
}

#define WEFT_MOVES(Name, T, broadcast_, fcollect_, alltoall_)              \
  TEST_P(NvshmemCollectiveTest, Name##Moves) {                             \
    check<T>(GetParam(), 1, WEFT_CALL(broadcast_, , 1), broadcast_wanted); \
    check<T>(GetParam(), 0, WEFT_CALL(fcollect_), fcollect_wanted);        \
    check<T>(GetParam(), 0, WEFT_CALL(alltoall_), alltoall_wanted);        \
  }
WEFT_MOVES(Int, int, int_broadcast, int_fcollect, int_alltoall)
WEFT_MOVES(Double, double, double_broadcast, double_fcollect, double_alltoall)
WEFT_MOVES(Bfloat16, __nv_bfloat16, bfloat16_broadcast, bfloat16_fcollect, bfloat16_alltoall)
WEFT_MOVES(Mem, unsigned char, broadcastmem, fcollectmem, alltoallmem)

// Folds what the members give; a member of reducescatter gets the block of its rank.
template <class Fold>
auto folded(Fold fold, bool scattered) {
  return [=](int rank, int size, std::size_t i, std::size_t count) {
    const std::size_t at = scattered ? static_cast<std::size_t>(rank) * count + i : i;
    int result = number(0, at);
    for (int r = 1; r < size; ++r) result = fold(result, number(r, at));
    return static_cast<double>(result);
  };
}
int sum(int a, int b) { return a + b; }
int product(int a, int b) { return a * b; }
int least(int a, int b) { return std::min(a, b); }
int most(int a, int b) { return std::max(a, b); }
int all_bits(int a, int b) { return a & b; }
int any_bits(int a, int b) { return a | b; }
int odd_bits(int a, int b) { return a ^ b; }

#define WEFT_REDUCES(N, T, op, fold)                                          \
  check<T>(GetParam(), 1, WEFT_CALL(N##_##op##_reduce), folded(fold, false)); \
  check<T>(GetParam(), 1, WEFT_CALL(N##_##op##_reducescatter), folded(fold, true))

TEST_P(NvshmemCollectiveTest, IntReduces) {
  WEFT_REDUCES(int, int, sum, sum);
  WEFT_REDUCES(int, int, max, most);
}
TEST_P(NvshmemCollectiveTest, DoubleReduces) {
  WEFT_REDUCES(double, double, prod, product);
  WEFT_REDUCES(double, double, min, least);
}
TEST_P(NvshmemCollectiveTest, BitwiseReduces) {
  WEFT_REDUCES(uchar, unsigned char, and, all_bits);
  WEFT_REDUCES(uint16, std::uint16_t, or, any_bits);
  WEFT_REDUCES(size, std::size_t, xor, odd_bits);
}
TEST_P(NvshmemCollectiveTest, SmallFloatReduces) {
  WEFT_REDUCES(bfloat16, __nv_bfloat16, sum, sum);
  WEFT_REDUCES(bfloat16, __nv_bfloat16, min, least);
}

// All members get one pair: the greatest value, and of equal ones the smallest index.
TEST_P(NvshmemCollectiveTest, MaxlocFindsThePairOfTheGreatestValue) {
  on_pes_with_module_state(GetParam(), kPes, [](Pe& pe, WithModuleState& pictured) {
    constexpr std::size_t kPairs = 4;
    double2* src = pe.allocate<double2>(kPairs);
    double2* dst = pe.allocate<double2>(kPairs);
    int* codes = pe.allocate<int>(2);
    const double mine = pe.pe(), last = kPes - 1;
    src[0] = {mine, 10 + mine};             // the last PE's
    src[1] = {-1 - mine, 20 + mine};        // the first PE's, and no value is positive
    src[2] = {5, 30 - mine};                // all are equal
    src[3] = {mine == 1 ? 9. : 0., -mine};  // one in the middle
    codes[0] = codes[1] = -1;
    pe.barrier();
    pictured.run(kThreads, [=] {
      const int code = nvshmemx_double2_maxloc_reduce_block(NVSHMEM_TEAM_WORLD, dst, src, kPairs);
      const int in_place =
          nvshmemx_double2_maxloc_reduce_block(NVSHMEM_TEAM_WORLD, src, src, kPairs);
      if (dev::thread_rank() != 0) return;
      codes[0] = code;
      codes[1] = in_place;
    });
    EXPECT_EQ(0, codes[0]);
    EXPECT_EQ(0, codes[1]);
    for (const double2* result : {dst, src}) {
      EXPECT_EQ(last, result[0].x);
      EXPECT_EQ(10 + last, result[0].y);
      EXPECT_EQ(-1, result[1].x);
      EXPECT_EQ(20, result[1].y);
      EXPECT_EQ(5, result[2].x);
      EXPECT_EQ(30 - last, result[2].y);
      EXPECT_EQ(9, result[3].x);
      EXPECT_EQ(-1, result[3].y);
    }
  });
}

// A value that a PE put before a barrier is there after it, at every scope.
TEST_P(NvshmemCollectiveTest, Barriers) {
  on_pes_with_module_state(GetParam(), kPes, [](Pe& pe, WithModuleState& pictured) {
    constexpr int kKinds = 2 * kScopes;
    int* word = pe.allocate<int>(kKinds);
    int* seen = pe.allocate<int>(kKinds);
    std::fill_n(word, kKinds, -1);
    pe.barrier();
    const int mine = pe.pe(), next = pe.next();
    pictured.run(kThreads, [=] {
      for (int kind = 0; kind < kKinds; ++kind) {
        const int scope = kind % kScopes;
        if (!calls(scope)) continue;
        const bool first = dev::thread_rank() == 0;
        if (first) nvshmem_int_p(word + kind, mine, next);
        if (kind < kScopes)
          WEFT_AT_SCOPE(scope, barrier_all);
        else
          WEFT_AT_SCOPE(scope, barrier, NVSHMEM_TEAM_WORLD);
        if (first) seen[kind] = word[kind];
        WEFT_AT_SCOPE(scope, sync_all);
        WEFT_AT_SCOPE(scope, team_sync, NVSHMEM_TEAM_WORLD);
      }
    });
    pe.barrier();
    const int prev = (mine + kPes - 1) % kPes;
    for (int kind = 0; kind < kKinds; ++kind) EXPECT_EQ(prev, seen[kind]) << kind;
  });
}

}  // namespace
}  // namespace weft::test
