// The promises of fence, quiet, notify and contexts; and what they do not promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/multi_pe/values.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMost = 3000;

// A letter box on every PE. The sender is the PE before; `answer` is the receiver's way back, so
// that one letter is under way at a time.
struct Box {
  std::uint64_t flag;
  std::uint64_t answer;
  std::uint32_t data[kMost];
};

struct Post {
  Runtime& rt;
  Context& ctx;
  Box* box;
  int next, previous;

  static Result<Post> make(Runtime& rt) {
    ASSIGN_OR_RETURN(Box* const box, rt.callocate<Box>(1));
    const int n = rt.npes();
    return Post{rt, rt.context(), box, (rt.pe() + 1) % n, (rt.pe() + n - 1) % n};
  }
  static std::vector<std::uint32_t> letter(std::uint64_t round, std::size_t count) {
    return std::vector<std::uint32_t>(count, static_cast<std::uint32_t>(round * 7));
  }
  Status read(std::uint64_t round, std::size_t count) {
    ASSIGN_OR_RETURN(const std::uint64_t seen, signal_wait_until(ctx, &box->flag, Cmp::kGe, round));
    EXPECT_EQ(seen, round);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(box->data[i], round * 7) << "element " << i;
    RETURN_IF_ERROR(ctx.signal(set(&box->answer, round), previous));
    return signal_wait_until(ctx, &box->answer, Cmp::kGe, round).status();
  }
};

enum class Way { kNotify, kNotifyAdd, kFence, kFencePe, kQuiet, kQuietPe };

Status send(Post& post, Way way, std::uint64_t round, const std::vector<std::uint32_t>& letter) {
  Context& ctx = post.ctx;
  Box* const box = post.box;
  if (way == Way::kNotify)
    return ctx.put(box->data, letter.data(), letter.size(), post.next, set(&box->flag, round));
  if (way == Way::kNotifyAdd)
    return ctx.put_nbi(box->data, letter.data(), letter.size(), post.next, add(&box->flag, 1));
  RETURN_IF_ERROR(ctx.put_nbi(box->data, letter.data(), letter.size(), post.next));
  if (way == Way::kFence) RETURN_IF_ERROR(ctx.fence());
  if (way == Way::kFencePe) RETURN_IF_ERROR(ctx.fence(post.next));
  if (way == Way::kQuiet) RETURN_IF_ERROR(ctx.quiet());
  if (way == Way::kQuietPe) RETURN_IF_ERROR(ctx.quiet(post.next));
  return ctx.signal(set(&box->flag, round), post.next);
}

class OrderingTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(OrderingTest, WhoSeesTheFlagSeesTheData) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Post post, Post::make(rt));
    Random random(test_seed());
    std::uint64_t round = 0;
    for (int turn = 0; turn < 15; ++turn)
      for (const Way way : {Way::kNotify, Way::kNotifyAdd, Way::kFence, Way::kFencePe, Way::kQuiet,
                            Way::kQuietPe}) {
        const std::size_t count = turn == 0 ? 0 : random() % kMost;
        ++round;
        const std::vector<std::uint32_t> letter = Post::letter(round, count);
        RETURN_IF_ERROR(send(post, way, round, letter));
        RETURN_IF_ERROR(post.read(round, count));
        RETURN_IF_ERROR(post.ctx.quiet());  // before the letter goes away
      }
    return rt.barrier();
  }));
}

// quiet: what I put is there. The other PE is told by a message that orders nothing by itself.
TEST_P(OrderingTest, QuietCompletes) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Post post, Post::make(rt));
    ASSIGN_OR_RETURN(Context other, rt.create_context());
    for (std::uint64_t round = 1; round <= 30; ++round) {
      const std::vector<std::uint32_t> letter = Post::letter(round, 500);
      RETURN_IF_ERROR(post.ctx.put_nbi(post.box->data, letter.data(), letter.size(), post.next));
      RETURN_IF_ERROR(post.ctx.quiet());
      RETURN_IF_ERROR(other.signal(set(&post.box->flag, round), post.next));
      RETURN_IF_ERROR(post.read(round, 500));
      RETURN_IF_ERROR(rt.barrier());
    }
    return Status::ok();
  }));
}

// The group that delivers late really does: without a fence a flag overtakes its data at times. If
// it never did, the tests above would prove little.
TEST(LateDelivery, UnfencedFlagsOvertakeTheirData) {
  PeGroup group{Pes::kThreads, 2, {}, {}};
  group.options.fault = late_fault();
  std::atomic<int> overtaken{0};
  EXPECT_OK(run_pes(group, [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.callocate<std::uint64_t>(2));
    for (std::uint64_t round = 1; round <= 50; ++round) {
      if (rt.pe() == 0) {
        RETURN_IF_ERROR(rt.context().p(words, round, 1));
        RETURN_IF_ERROR(rt.context().signal(set(words + 1, round), 1));
        RETURN_IF_ERROR(signal_wait_until(rt.context(), words + 1, Cmp::kEq, round).status());
      } else {
        RETURN_IF_ERROR(signal_wait_until(rt.context(), words + 1, Cmp::kEq, round).status());
        if (signal_fetch(words) != round) ++overtaken;
        RETURN_IF_ERROR(rt.context().signal(set(words + 1, round), 0));
      }
      RETURN_IF_ERROR(rt.barrier());
      if (rt.pe() == 1) {
        EXPECT_EQ(signal_fetch(words), round);  // a barrier completes
      }
    }
    return Status::ok();
  }));
  EXPECT_GT(overtaken, 0);
}

// A blocking put that has returned is done with its source, also when it is delivered much later.
TEST_P(OrderingTest, SourceMayBeReused) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const inbox, rt.callocate<std::uint64_t>(100));
    const int next = (rt.pe() + 1) % rt.npes();
    std::uint64_t source = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
      source = i * i;
      RETURN_IF_ERROR(rt.context().put(inbox + i, &source, 1, next));
    }
    RETURN_IF_ERROR(rt.barrier());
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(inbox[i], i * i);
    return rt.barrier();
  }));
}

// A context for each thread: letters, counters and quiets of several threads at once.
TEST_P(OrderingTest, ThreadsWithContextsOfTheirOwn) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    constexpr std::size_t kThreads = 4;
    constexpr std::uint64_t kRounds = 40;
    struct Seat {
      std::uint64_t flag, answer, data[50];
    };
    ASSIGN_OR_RETURN(auto* const seats, rt.callocate<Seat>(kThreads));
    ASSIGN_OR_RETURN(auto* const counter, rt.callocate<std::uint64_t>(1));
    const auto work = [&](std::size_t t) -> Status {
      ASSIGN_OR_RETURN(Context ctx, rt.create_context());
      const int next = (rt.pe() + 1) % rt.npes();
      Seat* const seat = seats + t;
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        const std::vector<std::uint64_t> mine(50, round + t * 1000);
        RETURN_IF_ERROR(ctx.put(seat->data, mine.data(), mine.size(), next));
        RETURN_IF_ERROR(ctx.fence());
        RETURN_IF_ERROR(ctx.signal(set(&seat->flag, round), next));
        RETURN_IF_ERROR(signal_wait_until(ctx, &seat->flag, Cmp::kGe, round).status());
        for (const std::uint64_t value : seat->data) EXPECT_EQ(value, round + t * 1000);
        // Tell the one before that its letter has been read.
        const int previous = (rt.pe() + rt.npes() - 1) % rt.npes();
        RETURN_IF_ERROR(ctx.signal(add(counter, 1), previous));
        RETURN_IF_ERROR(ctx.quiet());
        RETURN_IF_ERROR(ctx.signal(set(&seat->answer, round), previous));
        RETURN_IF_ERROR(signal_wait_until(ctx, &seat->answer, Cmp::kGe, round).status());
      }
      return Status::ok();
    };
    std::vector<Status> results(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { results[t] = work(t); });
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) RETURN_IF_ERROR(result);
    RETURN_IF_ERROR(rt.barrier());
    EXPECT_EQ(signal_fetch(counter), kThreads * kRounds);
    return rt.barrier();
  }));
}

// As many contexts as there are lanes; the next is refused; a lane comes back with its context.
TEST_P(OrderingTest, ContextsComeAndGo) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const word, rt.callocate<std::uint64_t>(1));
    const int next = (rt.pe() + 1) % rt.npes();
    std::uint64_t wanted = 0;
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<Context> contexts;
      for (;;) {
        auto made = rt.create_context();
        if (!made) {
          EXPECT_CODE(made, Code::kOutOfRange);
          EXPECT_THAT(made.status().text(), HasSubstr("64"));
          break;
        }
        contexts.push_back(std::move(*made));
        if (contexts.size() > 64) return Status::error(Code::kInternal, "contexts without end");
      }
      EXPECT_GE(contexts.size(), 60u);
      for (Context& context : contexts) {
        EXPECT_EQ(&context.runtime(), &rt);
        RETURN_IF_ERROR(context.atomic_add(word, std::uint64_t{1}, next));
      }
      wanted += contexts.size();
      contexts.clear();  // completes what they had outstanding
      RETURN_IF_ERROR(rt.barrier());
      EXPECT_EQ(*word, wanted);
      RETURN_IF_ERROR(rt.barrier());
    }
    return Status::ok();
  }));
}

INSTANTIATE_TEST_SUITE_P(Pes, OrderingTest, ::testing::ValuesIn(pe_groups({1, 2, 3})),
                         pe_group_name);

}  // namespace
}  // namespace weft
