// Every atomic on every type that has it, by all PEs at once on one PE's words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/values.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

// The words of one type, between guards that must not change.
template <class T>
struct Words {
  T guard_before, value, guard_after;
};

template <class T>
Status reset(Runtime& rt, Words<T>* words, T value) {
  RETURN_IF_ERROR(rt.barrier());
  *words = {static_cast<T>(77), value, static_cast<T>(88)};
  return rt.barrier();
}

template <class T>
void expect_value(const Words<T>* words, T wanted, const char* what) {
  EXPECT_TRUE(words->value == wanted) << what << ": " << +words->value << ", not " << +wanted;
  EXPECT_TRUE(words->guard_before == static_cast<T>(77)) << what;
  EXPECT_TRUE(words->guard_after == static_cast<T>(88)) << what;
}

// The results of all PEs are gathered at PE `home`: each puts its share there.
template <class T>
Status gather(Runtime& rt, T* all, const std::vector<T>& mine, int home) {
  RETURN_IF_ERROR(rt.context().put(all + mine.size() * static_cast<std::size_t>(rt.pe()),
                                   mine.data(), mine.size(), home));
  return rt.barrier();
}

template <class T>
T number(std::size_t i) {
  return static_cast<T>(i);
}

constexpr std::size_t kEach = 20;

template <class T>
Status counters(Runtime& rt, Words<T>* words, T* all, int home) {
  Context& ctx = rt.context();
  const auto npes = static_cast<std::size_t>(rt.npes());
  const T add = static_cast<T>(rt.pe() + 3);
  T sum = 5;
  for (std::size_t pe = 0; pe < npes; ++pe)
    sum = static_cast<T>(sum + number<T>(kEach) * (number<T>(pe + 3) + T{1}));
  RETURN_IF_ERROR(reset(rt, words, T{5}));
  for (std::size_t i = 0; i < kEach; ++i) {
    RETURN_IF_ERROR(ctx.atomic_add(&words->value, add, home));
    RETURN_IF_ERROR(ctx.atomic_inc(&words->value, home));
  }
  RETURN_IF_ERROR(rt.barrier());
  if (rt.pe() == home) expect_value(words, sum, "add and inc");

  // Fetched numbers are all different: none is lost, none seen twice.
  RETURN_IF_ERROR(reset(rt, words, T{0}));
  std::vector<T> mine;
  for (std::size_t i = 0; i < kEach; ++i) {
    ASSIGN_OR_RETURN(const T old, i % 2 == 0 ? ctx.atomic_fetch_inc(&words->value, home)
                                             : ctx.atomic_fetch_add(&words->value, T{1}, home));
    mine.push_back(old);
  }
  RETURN_IF_ERROR(gather(rt, all, mine, home));
  if (rt.pe() == home) {
    std::sort(all, all + npes * kEach);
    for (std::size_t i = 0; i < npes * kEach; ++i) EXPECT_EQ(all[i], number<T>(i));
    expect_value(words, number<T>(npes * kEach), "fetch_add");
  }

  // An increment made of compare-and-swap.
  RETURN_IF_ERROR(reset(rt, words, T{0}));
  for (std::size_t i = 0; i < kEach; ++i) {
    for (T seen = 0;;) {
      ASSIGN_OR_RETURN(const T old, ctx.atomic_compare_swap(&words->value, seen,
                                                            static_cast<T>(seen + 1), home));
      if (old == seen) break;
      seen = old;
    }
  }
  RETURN_IF_ERROR(rt.barrier());
  if (rt.pe() == home) expect_value(words, number<T>(npes * kEach), "compare_swap");
  return Status::ok();
}

// Each PE owns one bit.
template <class T>
Status bits(Runtime& rt, Words<T>* words, int home) {
  Context& ctx = rt.context();
  const T bit = static_cast<T>(T{1} << (rt.pe() % 30));
  const T everybody = static_cast<T>((std::uint64_t{1} << rt.npes()) - 1);
  RETURN_IF_ERROR(reset(rt, words, T{0}));
  RETURN_IF_ERROR(ctx.atomic_or(&words->value, bit, home));
  RETURN_IF_ERROR(rt.barrier());
  if (rt.pe() == home) expect_value(words, everybody, "or");
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(T old, ctx.atomic_fetch_and(&words->value, static_cast<T>(~bit), home));
  EXPECT_EQ(old & bit, bit);
  ASSIGN_OR_RETURN(old, ctx.atomic_fetch_or(&words->value, bit, home));
  EXPECT_EQ(old & bit, T{0});
  ASSIGN_OR_RETURN(old, ctx.atomic_fetch_xor(&words->value, bit, home));
  EXPECT_EQ(old & bit, bit);
  RETURN_IF_ERROR(ctx.atomic_xor(&words->value, bit, home));
  RETURN_IF_ERROR(ctx.quiet());
  RETURN_IF_ERROR(ctx.atomic_and(&words->value, static_cast<T>(~bit), home));
  RETURN_IF_ERROR(rt.barrier());
  if (rt.pe() == home) expect_value(words, T{0}, "and and xor");
  return Status::ok();
}

// A token that is swapped in comes out exactly once.
template <class T>
Status swaps(Runtime& rt, Words<T>* words, T* all, int home) {
  Context& ctx = rt.context();
  const auto npes = static_cast<std::size_t>(rt.npes());
  RETURN_IF_ERROR(reset(rt, words, T{0}));
  std::vector<T> mine;
  for (std::size_t i = 0; i < kEach; ++i) {
    const T token = number<T>(1 + static_cast<std::size_t>(rt.pe()) * kEach + i);
    ASSIGN_OR_RETURN(const T old, ctx.atomic_swap(&words->value, token, home));
    mine.push_back(old);
  }
  RETURN_IF_ERROR(gather(rt, all, mine, home));
  if (rt.pe() == home) {
    std::vector<T> out(all, all + npes * kEach);
    out.push_back(words->value);
    std::sort(out.begin(), out.end());
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(out[i] == number<T>(i)) << i;
  }
  RETURN_IF_ERROR(reset(rt, words, T{9}));
  if (rt.pe() == 0) {
    RETURN_IF_ERROR(ctx.atomic_set(&words->value, T{42}, home));
    RETURN_IF_ERROR(ctx.quiet());
  }
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const T seen, ctx.atomic_fetch(&words->value, home));
  EXPECT_TRUE(seen == T{42});
  RETURN_IF_ERROR(rt.barrier());
  if (rt.pe() == home) expect_value(words, T{42}, "set");

  // Without waiting: old values are there after quiet.
  RETURN_IF_ERROR(reset(rt, words, T{11}));
  T fetched = 0, swapped = 0;
  RETURN_IF_ERROR(ctx.atomic_nbi(Amo::kFetch, &fetched, &words->value, T{0}, T{0}, rt.pe()));
  RETURN_IF_ERROR(ctx.fence());
  RETURN_IF_ERROR(ctx.atomic_nbi(Amo::kSwap, &swapped, &words->value, T{12}, T{0}, rt.pe()));
  RETURN_IF_ERROR(ctx.quiet());
  EXPECT_TRUE(fetched == T{11});
  EXPECT_TRUE(swapped == T{11});
  expect_value(words, T{12}, "swap_nbi");
  return Status::ok();
}

template <class T>
Status atomics(Runtime& rt) {
  if constexpr (is_xamo_type<T>) {
    ASSIGN_OR_RETURN(auto* const words, rt.allocate<Words<T>>(1));
    ASSIGN_OR_RETURN(auto* const all, rt.allocate<T>(kEach * static_cast<std::size_t>(rt.npes())));
    const int home = static_cast<int>(test_seed() % static_cast<std::uint64_t>(rt.npes()));
    RETURN_IF_ERROR(swaps(rt, words, all, home));
    if constexpr (is_amo_type<T>) RETURN_IF_ERROR(counters(rt, words, all, home));
    if constexpr (is_bitwise_amo_type<T>) RETURN_IF_ERROR(bits(rt, words, home));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.free(all));
    return rt.free(words);
  } else {
    static_cast<void>(rt);
    return Status::ok();
  }
}

Status atomics_of_every_type(Runtime& rt) {
#define WEFT_TYPE(name, type, ...)                                 \
  {                                                                \
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, #name); \
    RETURN_IF_ERROR(atomics<type>(rt));                            \
  }
#include "include/compat/shmem/types.def.h"
  return Status::ok();
}

class AtomicTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(AtomicTest, EveryTypeAndKind) { EXPECT_OK(run_pes(GetParam(), atomics_of_every_type)); }

INSTANTIATE_TEST_SUITE_P(Pes, AtomicTest, ::testing::ValuesIn(pe_groups({1, 3})), pe_group_name);

}  // namespace
}  // namespace weft
