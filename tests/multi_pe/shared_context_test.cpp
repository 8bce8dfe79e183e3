// A context that several threads share: each sees its own operations as if it were alone.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

constexpr std::size_t kThreads = 4;
constexpr std::uint64_t kRounds = 50;

// The words that a thread shares with the same thread of the neighbouring PEs.
struct Inbox {
  std::uint64_t data[16];
  std::uint64_t signal;
  std::uint64_t taken;
};

std::uint64_t value_of(int pe, std::size_t thread, std::uint64_t round, std::uint64_t i) {
  return ((static_cast<std::uint64_t>(pe) * kThreads + thread) * kRounds + round) * 64 + i;
}

// Round by round: data and signal to the next PE, data of the previous one here.
Status pass_round(Context& ctx, Inbox* inbox, std::size_t thread, std::uint64_t* sum) {
  const int next = (ctx.pe() + 1) % ctx.npes();
  const int previous = (ctx.pe() + ctx.npes() - 1) % ctx.npes();
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::uint64_t mine[16];
    for (std::uint64_t i = 0; i < 16; ++i) mine[i] = value_of(ctx.pe(), thread, round, i);
    RETURN_IF_ERROR(ctx.put(inbox->data, mine, 16, next, set(&inbox->signal, round)));
    RETURN_IF_ERROR(wait_until(ctx, &inbox->signal, Cmp::kGe, round));
    for (std::uint64_t i = 0; i < 16; ++i)
      EXPECT_EQ(inbox->data[i], value_of(previous, thread, round, i));
    ASSIGN_OR_RETURN(const std::uint64_t first, ctx.g(inbox->data, next));
    static_cast<void>(first);  // may be of the next round already; that it comes is what counts
    RETURN_IF_ERROR(ctx.atomic_add(sum, round, 0));
    RETURN_IF_ERROR(ctx.atomic_set(&inbox->taken, round, previous));
    RETURN_IF_ERROR(ctx.fence());
    RETURN_IF_ERROR(wait_until(ctx, &inbox->taken, Cmp::kGe, round));
  }
  return ctx.quiet();
}

Status many_threads(Runtime& rt) {
  Context& ctx = rt.context();
  ctx.share();
  ASSIGN_OR_RETURN(auto* const inboxes, rt.callocate<Inbox>(kThreads));
  ASSIGN_OR_RETURN(auto* const sum, rt.callocate<std::uint64_t>(1));
  std::vector<Status> ends(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { ends[t] = pass_round(ctx, inboxes + t, t, sum); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) RETURN_IF_ERROR(end);
  RETURN_IF_ERROR(rt.barrier());
  const std::uint64_t all = static_cast<std::uint64_t>(rt.npes()) * kThreads;
  if (rt.pe() == 0) EXPECT_EQ(*sum, all * kRounds * (kRounds + 1) / 2);
  return rt.barrier();
}

class SharedContextTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(SharedContextTest, ManyThreads) { EXPECT_OK(run_pes(GetParam(), many_threads)); }

// The same where all calls take the long way.
TEST_P(SharedContextTest, ManyThreadsWithChecks) {
  PeGroup group = GetParam();
  group.options.check = true;
  EXPECT_OK(run_pes(group, many_threads));
}

INSTANTIATE_TEST_SUITE_P(Pes, SharedContextTest, ::testing::ValuesIn(pe_groups({1, 2})),
                         pe_group_name);

}  // namespace
}  // namespace weft
