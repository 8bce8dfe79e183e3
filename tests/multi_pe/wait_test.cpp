// Waits and tests of every form, on every type that has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/values.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

constexpr std::size_t kLamport = 9;
constexpr Cmp kAllCmps[] = {Cmp::kEq, Cmp::kNe, Cmp::kGt, Cmp::kGe, Cmp::kLt, Cmp::kLe};

// From `before` to `after` the condition `cmp bound` becomes true, and not sooner. Signed types go
// below zero: there an unsigned comparison would give the opposite.
template <class T>
struct Change {
  T before, after, bound;
};
template <class T>
Change<T> change_of(Cmp cmp) {
  const T low = std::is_signed_v<T> ? static_cast<T>(-5) : T{5};
  const T high = T{100};
  switch (cmp) {
    case Cmp::kEq: return {low, high, high};
    case Cmp::kNe: return {low, high, low};
    case Cmp::kGt: return {low, high, low};
    case Cmp::kGe: return {low, high, high};
    case Cmp::kLt: return {high, low, high};
    case Cmp::kLe: return {high, low, low};
  }
  return {};
}

template <class T>
struct Board {
  Runtime& rt;
  T* words;

  int next() const { return (rt.pe() + 1) % rt.npes(); }
  Status reset(T value) {
    RETURN_IF_ERROR(rt.barrier());
    std::fill(words, words + kLamport, value);
    return rt.barrier();
  }
  // Changes words of the next PE, in random order.
  Status change(std::vector<std::size_t> which, T value, Random& random) {
    std::shuffle(which.begin(), which.end(), random);
    for (const std::size_t i : which) RETURN_IF_ERROR(rt.context().p(words + i, value, next()));
    return rt.context().quiet();
  }
};

std::vector<std::size_t> all_words() {
  std::vector<std::size_t> all(kLamport);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

template <class T>
Status wait_for_one_and_all(Board<T>& board, Cmp cmp, Random& random) {
  Context& ctx = board.rt.context();
  const auto [before, after, bound] = change_of<T>(cmp);
  RETURN_IF_ERROR(board.reset(before));
  ASSIGN_OR_RETURN(bool held, test(ctx, board.words, cmp, bound));
  EXPECT_FALSE(held);
  ASSIGN_OR_RETURN(held, test_all(ctx, board.words, kLamport, nullptr, cmp, bound));
  EXPECT_FALSE(held);
  // Nobody changes a word before everybody has seen that it does not hold yet.
  RETURN_IF_ERROR(board.rt.barrier());
  RETURN_IF_ERROR(board.change(all_words(), after, random));
  RETURN_IF_ERROR(wait_until(ctx, board.words + 4, cmp, bound));
  RETURN_IF_ERROR(wait_until_all(ctx, board.words, kLamport, nullptr, cmp, bound));
  for (std::size_t i = 0; i < kLamport; ++i) EXPECT_TRUE(board.words[i] == after);
  ASSIGN_OR_RETURN(held, test(ctx, board.words, cmp, bound));
  EXPECT_TRUE(held);
  ASSIGN_OR_RETURN(held, test_all(ctx, board.words, kLamport, nullptr, cmp, bound));
  EXPECT_TRUE(held);
  return Status::ok();
}

// Words left out do not count, whatever they hold; the others come one by one.
template <class T>
Status wait_for_some(Board<T>& board, Cmp cmp, Random& random) {
  Context& ctx = board.rt.context();
  const auto [before, after, bound] = change_of<T>(cmp);
  int left_out[kLamport] = {};
  left_out[random() % kLamport] = 1;
  left_out[random() % kLamport] = 1;
  const auto many = static_cast<std::size_t>(std::count(left_out, left_out + kLamport, 0));
  RETURN_IF_ERROR(board.reset(before));
  ASSIGN_OR_RETURN(std::size_t index, test_any(ctx, board.words, kLamport, left_out, cmp, bound));
  EXPECT_EQ(index, kNoIndex);
  std::size_t indices[kLamport];
  ASSIGN_OR_RETURN(std::size_t found,
                   test_some(ctx, board.words, kLamport, indices, left_out, cmp, bound));
  EXPECT_EQ(found, 0u);
  RETURN_IF_ERROR(board.rt.barrier());
  RETURN_IF_ERROR(board.change(all_words(), after, random));

  int status[kLamport];
  std::copy(left_out, left_out + kLamport, status);
  std::size_t seen = 0;
  ASSIGN_OR_RETURN(index, wait_until_any(ctx, board.words, kLamport, status, cmp, bound));
  if (index >= kLamport) return Status::error(Code::kInternal, "wait_until_any found nothing");
  EXPECT_EQ(status[index], 0);
  EXPECT_TRUE(board.words[index] == after);
  status[index] = 1;
  ++seen;
  while (seen < many) {
    ASSIGN_OR_RETURN(found,
                     wait_until_some(ctx, board.words, kLamport, indices, status, cmp, bound));
    EXPECT_GE(found, 1u);
    if (found == 0 || found > kLamport) return Status::error(Code::kInternal, "wait_until_some");
    for (std::size_t k = 0; k < found; ++k) {
      EXPECT_EQ(status[indices[k]], 0) << "word " << indices[k] << " was left out";
      EXPECT_TRUE(board.words[indices[k]] == after);
      status[indices[k]] = 1;
      ++seen;
    }
  }
  EXPECT_EQ(seen, many);
  // All are left out now: no wait waits.
  ASSIGN_OR_RETURN(index, wait_until_any(ctx, board.words, kLamport, status, cmp, bound));
  EXPECT_EQ(index, kNoIndex);
  ASSIGN_OR_RETURN(found, wait_until_some(ctx, board.words, kLamport, indices, status, cmp, bound));
  EXPECT_EQ(found, 0u);
  RETURN_IF_ERROR(wait_until_all(ctx, board.words, kLamport, status, cmp, bound));
  return Status::ok();
}

// Each word has a value of its own.
template <class T>
Status wait_for_vectors(Board<T>& board, Random& random) {
  Context& ctx = board.rt.context();
  RETURN_IF_ERROR(board.reset(T{0}));
  T values[kLamport];
  for (std::size_t i = 0; i < kLamport; ++i) values[i] = static_cast<T>(10 + i);
  ASSIGN_OR_RETURN(bool held,
                   test_all_vector(ctx, board.words, kLamport, nullptr, Cmp::kGe, values));
  EXPECT_FALSE(held);
  RETURN_IF_ERROR(board.rt.barrier());
  std::vector<std::size_t> order = all_words();
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t i : order)
    RETURN_IF_ERROR(ctx.p(board.words + i, values[i], board.next()));
  RETURN_IF_ERROR(ctx.quiet());

  int status[kLamport] = {};
  std::size_t indices[kLamport];
  ASSIGN_OR_RETURN(const std::size_t any,
                   wait_until_any_vector(ctx, board.words, kLamport, status, Cmp::kEq, values));
  if (any >= kLamport) return Status::error(Code::kInternal, "wait_until_any_vector found nothing");
  EXPECT_TRUE(board.words[any] == values[any]);
  status[any] = 1;
  for (std::size_t seen = 1; seen < kLamport;) {
    ASSIGN_OR_RETURN(
        const std::size_t found,
        wait_until_some_vector(ctx, board.words, kLamport, indices, status, Cmp::kEq, values));
    if (found == 0) return Status::error(Code::kInternal, "wait_until_some_vector found nothing");
    for (std::size_t k = 0; k < found; ++k) status[indices[k]] = 1;
    seen += found;
  }
  RETURN_IF_ERROR(wait_until_all_vector(ctx, board.words, kLamport, nullptr, Cmp::kEq, values));
  ASSIGN_OR_RETURN(held, test_all_vector(ctx, board.words, kLamport, nullptr, Cmp::kEq, values));
  EXPECT_TRUE(held);
  values[3] = T{99};
  ASSIGN_OR_RETURN(held, test_all_vector(ctx, board.words, kLamport, nullptr, Cmp::kEq, values));
  EXPECT_FALSE(held);
  ASSIGN_OR_RETURN(const std::size_t first,
                   test_any_vector(ctx, board.words + 3, 1, nullptr, Cmp::kEq, values + 3));
  EXPECT_EQ(first, kNoIndex);
  ASSIGN_OR_RETURN(const std::size_t some, test_some_vector(ctx, board.words, kLamport, indices,
                                                            nullptr, Cmp::kEq, values));
  EXPECT_EQ(some, kLamport - 1);
  EXPECT_EQ(std::count(indices, indices + some, 3u), 0);
  return Status::ok();
}

template <class T>
Status waits(Runtime& rt) {
  if constexpr (is_wait_type<T>) {
    Random random(test_seed() + static_cast<std::uint64_t>(rt.pe()));
    ASSIGN_OR_RETURN(auto* const words, rt.allocate<T>(kLamport));
    Board<T> board{rt, words};
    for (const Cmp cmp : kAllCmps) {
      RETURN_IF_ERROR(wait_for_one_and_all(board, cmp, random));
      RETURN_IF_ERROR(wait_for_some(board, cmp, random));
    }
    RETURN_IF_ERROR(wait_for_vectors(board, random));
    RETURN_IF_ERROR(rt.barrier());
    return rt.free(words);
  } else {
    static_cast<void>(rt);
    return Status::ok();
  }
}

Status waits_of_every_type(Runtime& rt) {
#define WEFT_TYPE(name, type, ...)                                 \
  {                                                                \
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, #name); \
    RETURN_IF_ERROR(waits<type>(rt));                              \
  }
#include "include/compat/shmem/types.def.h"
  return Status::ok();
}

class WaitTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(WaitTest, EveryFormAndType) { EXPECT_OK(run_pes(GetParam(), waits_of_every_type)); }

// No words: nothing to wait for.
TEST_P(WaitTest, NoWords) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    Context& ctx = rt.context();
    const std::uint64_t* none = nullptr;
    std::size_t index = 0;
    RETURN_IF_ERROR(wait_until_all(ctx, none, 0, nullptr, Cmp::kEq, std::uint64_t{1}));
    ASSIGN_OR_RETURN(std::size_t any,
                     wait_until_any(ctx, none, 0, nullptr, Cmp::kEq, std::uint64_t{1}));
    EXPECT_EQ(any, kNoIndex);
    ASSIGN_OR_RETURN(any,
                     wait_until_some(ctx, none, 0, &index, nullptr, Cmp::kEq, std::uint64_t{1}));
    EXPECT_EQ(any, 0u);
    return rt.barrier();
  }));
}

// Signals that are set and added to, alone and behind data; the value that satisfied comes back.
TEST_P(WaitTest, Signals) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const signals, rt.callocate<std::uint64_t>(2));
    ASSIGN_OR_RETURN(auto* const data, rt.allocate<int>(1000));
    Context& ctx = rt.context();
    const auto npes = static_cast<std::uint64_t>(rt.npes());
    for (std::uint64_t round = 1; round <= 20; ++round) {
      for (int pe = 0; pe < rt.npes(); ++pe) RETURN_IF_ERROR(ctx.signal(add(signals, 1), pe));
      ASSIGN_OR_RETURN(const std::uint64_t seen,
                       signal_wait_until(ctx, signals, Cmp::kGe, round * npes));
      EXPECT_GE(seen, round * npes);
      EXPECT_LE(seen, (round + 1) * npes);  // nobody can be further ahead: it needs my signal
      const std::vector<int> mine(1000, static_cast<int>(round));
      const int next = (rt.pe() + 1) % rt.npes();
      RETURN_IF_ERROR(ctx.put_signal(data, mine.data(), mine.size() * sizeof(int),
                                     set(signals + 1, round), next));
      ASSIGN_OR_RETURN(const std::uint64_t set_to,
                       signal_wait_until(ctx, signals + 1, Cmp::kEq, round));
      EXPECT_EQ(set_to, round);
      EXPECT_EQ(std::count(data, data + 1000, static_cast<int>(round)), 1000);
      RETURN_IF_ERROR(rt.barrier());
    }
    EXPECT_EQ(signal_fetch(signals), 20 * npes);
    return rt.barrier();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, WaitTest, ::testing::ValuesIn(pe_groups({1, 3})), pe_group_name);

}  // namespace
}  // namespace weft
