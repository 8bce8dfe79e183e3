// PEs that die at any moment, and waits that nobody answers: the others end, and say why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"
#include "tests/unit/base/scoped_env.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

void die() { kill(getpid(), SIGKILL); }

Options impatient() {
  Options options;
  options.start_timeout = 5;
  options.wait_timeout = 20;
  return options;
}

// Calls of every kind, one after the other, until something fails.
Status work(Runtime& rt, int rounds) {
  ASSIGN_OR_RETURN(auto* const words, rt.callocate<std::uint64_t>(64));
  Context& ctx = rt.context();
  const int next = (rt.pe() + 1) % rt.npes();
  for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(rounds); ++round) {
    const std::uint64_t mine[8] = {round};
    RETURN_IF_ERROR(ctx.put(words + 8, mine, 8, next, set(words, round)));
    RETURN_IF_ERROR(signal_wait_until(ctx, words, Cmp::kGe, round).status());
    RETURN_IF_ERROR(ctx.atomic_fetch_add(words + 32, round, next).status());
    RETURN_IF_ERROR(ctx.quiet());
    RETURN_IF_ERROR(rt.barrier());
    if (round % 10 != 0) continue;
    ASSIGN_OR_RETURN(auto* const more, rt.callocate<std::byte>(1000));
    ASSIGN_OR_RETURN(Team team, rt.split_strided(rt.world(), 0, 1, rt.npes()));
    RETURN_IF_ERROR(rt.destroy(team));
    RETURN_IF_ERROR(rt.free(more));
  }
  return rt.free(words);
}

// Every survivor ended with a failure that names the dead PE.
void expect_named(const std::vector<PeEnd>& ends, int dead) {
  if (is_pe_process()) return;
  for (std::size_t pe = 0; pe < ends.size(); ++pe) {
    const PeEnd& end = ends[pe];
    if (static_cast<int>(pe) == dead) {
      EXPECT_EQ(end.signal, SIGKILL) << end.log;
      continue;
    }
    EXPECT_EQ(end.signal, 0) << "PE " << pe << ": " << end.log;
    EXPECT_FALSE(end.failed) << "PE " << pe << ": " << end.log;
    EXPECT_THAT(end.code, AnyOf(Code::kPeerLost, Code::kAborted, Code::kTimeout)) << end.log;
    EXPECT_THAT(end.log, HasSubstr(fmt::format("PE {}", dead))) << "PE " << pe;
  }
}

class KillTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(KillTest, WhileTheOthersWait) {
  for (int where = 0; where < 5; ++where) {
    const auto ends = watch_pes(GetParam(), [where](Runtime& rt) -> Status {
      ASSIGN_OR_RETURN(auto* const word, rt.callocate<std::uint64_t>(1));
      if (rt.pe() == 1) die();
      switch (where) {
        case 0: return wait_until(rt.context(), word, Cmp::kEq, std::uint64_t{1});
        case 1: return rt.barrier();
        case 2: return rt.callocate_bytes(8, 8).status();
        case 3: return rt.allocate_bytes(std::size_t{1} << 30).status();  // a new chunk
        default: return rt.split_2d(rt.world(), 2).status();
      }
    });
    expect_named(ends, 1);
  }
}

// Before it has met anybody: the others wait until the deadline and say who is missing.
TEST_P(KillTest, BeforeTheMeeting) {
  PeGroup group = GetParam();
  group.options.start_timeout = 1;
  group.tune = [](int pe, Options&) {
    if (is_pe_process() && pe == 1) die();
  };
  expect_named(watch_pes(group, [](Runtime&) { return Status::ok(); }), 1);
}

// At a random moment: of the start, of the work, or of the end.
TEST_P(KillTest, AtAnyMoment) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 8; ++round) {
    PeGroup group = GetParam();
    const auto after = std::chrono::microseconds(random() % (round % 2 == 0 ? 8'000 : 60'000));
    group.tune = [after](int pe, Options&) {
      if (!is_pe_process() || pe != 2) return;
      std::thread([after] {
        std::this_thread::sleep_for(after);
        die();
      }).detach();
    };
    const auto ends = watch_pes(group, [](Runtime& rt) { return work(rt, 1'000'000); });
    expect_named(ends, 2);
  }
}

// While the runtimes go away: PE 1 does not come to the end. The others may just have got through,
// or not; they do not wait for ever.
TEST_P(KillTest, InsteadOfLeaving) {
  const auto ends = watch_pes(GetParam(), [](Runtime& rt) -> Status {
    RETURN_IF_ERROR(work(rt, 3));
    if (rt.pe() == 1) die();
    return Status::ok();
  });
  if (is_pe_process()) return;
  for (std::size_t pe = 0; pe < ends.size(); ++pe) {
    EXPECT_EQ(ends[pe].signal, pe == 1 ? SIGKILL : 0) << ends[pe].log;
    EXPECT_THAT(ends[pe].code, AnyOf(Code::kOk, Code::kPeerLost)) << ends[pe].log;
    if (ends[pe].code != Code::kOk) {
      EXPECT_THAT(ends[pe].log, HasSubstr("PE 1"));
    }
  }
}

std::vector<PeGroup> killable() {
  std::vector<PeGroup> groups;
  for (PeGroup& group : pe_groups({3}, impatient()))
    if (group.pes == Pes::kProcesses) groups.push_back(std::move(group));
  return groups;
}

INSTANTIATE_TEST_SUITE_P(Pes, KillTest, ::testing::ValuesIn(killable()), pe_group_name);

TEST(Killed, LeavesNothingInSharedMemory) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/dev/shm"),
                         std::filesystem::directory_iterator());
  };
  const auto before = count();
  const PeGroup group{Pes::kProcesses, 3, impatient(), {}};
  expect_named(watch_pes(group,
                         [](Runtime& rt) -> Status {
                           if (rt.pe() == 0) die();
                           return work(rt, 1'000'000);
                         }),
               0);
  EXPECT_EQ(count(), before);
}

// --- waits that end at their deadline ------------------------------------------------------------

class DeadlineTest : public ::testing::TestWithParam<PeGroup> {};

TEST_P(DeadlineTest, TheReportSaysAll) {
  PeGroup group = GetParam();
  group.options.wait_timeout = 1.5;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const base, rt.callocate<std::uint64_t>(8));
    std::uint64_t* const word = base + 3;
    const int next = (rt.pe() + 1) % rt.npes();
    RETURN_IF_ERROR(rt.context().signal(set(word, 5), next));
    RETURN_IF_ERROR(signal_wait_until(rt.context(), word, Cmp::kEq, 5).status());
    const Status late = wait_until(rt.context(), word, Cmp::kGe, std::uint64_t{7});
    EXPECT_CODE(late, Code::kTimeout);
    const std::string text(late.text());
    EXPECT_THAT(text, AllOf(HasSubstr(fmt::format("wait_until on PE {}", rt.pe())),
                            HasSubstr("heap offset 0x"), HasSubstr("is 5, wanted >= 7"),
                            HasSubstr("after "), HasSubstr("WEFT_WAIT_TIMEOUT=1.5")));
    const int previous = (rt.pe() + rt.npes() - 1) % rt.npes();
    EXPECT_THAT(text, HasSubstr(rt.options().check ? fmt::format("PE {} last wrote it", previous)
                                                   : std::string("WEFT_CHECK=1 remembers")));
    EXPECT_EQ(std::string(last_error()), late.to_string());
    // The context goes on.
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(rt.context().signal(set(word, 7), next));
    RETURN_IF_ERROR(wait_until(rt.context(), word, Cmp::kGe, std::uint64_t{7}));
    return rt.barrier();
  }));
}

TEST_P(DeadlineTest, ManyWordsAreNumbered) {
  PeGroup group = GetParam();
  group.options.wait_timeout = 0.2;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const words, rt.callocate<std::int16_t>(5));
    words[0] = words[1] = -3;
    const Status late = wait_until_all(rt.context(), words, 5, nullptr, Cmp::kLt, std::int16_t{-2});
    EXPECT_CODE(late, Code::kTimeout);
    EXPECT_THAT(std::string(late.text()),
                AllOf(HasSubstr("is 0, wanted < -2"), HasSubstr("word 2 of 5")));
    return Status::ok();
  }));
}

// A PE that does not come to a barrier is named by those who wait for it.
TEST_P(DeadlineTest, BarrierNamesWhoIsMissing) {
  PeGroup group = GetParam();
  if (group.npes < 2) return;
  group.options.wait_timeout = 1.5;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const done, rt.callocate<std::uint64_t>(1));
    if (rt.pe() != 1) {
      const Status late = rt.barrier();
      EXPECT_CODE(late, Code::kTimeout);
      EXPECT_THAT(std::string(late.text()),
                  AllOf(HasSubstr("barrier on PE"), HasSubstr("waits for PE")));
      for (int pe = 0; pe < rt.npes(); ++pe) RETURN_IF_ERROR(rt.context().signal(add(done, 1), pe));
      RETURN_IF_ERROR(rt.context().quiet());
    }
    // The PEs that waited have given up, and leave the job at once.
    const auto waiting = static_cast<std::uint64_t>(rt.npes() - 1);
    Status all_did;
    do {
      all_did = wait_until(rt.context(), done, Cmp::kEq, waiting);
    } while (all_did.is(Code::kTimeout));
    return Status::ok();
  }));
}

// The end would only wait for the deadline once more: the job has failed.
TEST(LateBarrier, IsTheEndOfTheJobForThoseWhoWaited) {
  CapturedLog log("info");
  Options options;
  options.wait_timeout = 0.5;
  const auto id = UniqueId::create(2);
  ASSERT_TRUE(id.is_ok());
  std::thread late([&] {
    auto rt = Runtime::create(*id, 1, 2, options);
    ASSERT_TRUE(rt.is_ok());
    while (rt->health().is_ok()) std::this_thread::yield();
    EXPECT_CODE(rt->health(), Code::kPeerLost);
  });
  {
    auto rt = Runtime::create(*id, 0, 2, options);
    ASSERT_TRUE(rt.is_ok());
    EXPECT_CODE(rt->barrier(), Code::kTimeout);
  }
  late.join();
  EXPECT_THAT(log.text(), HasSubstr("a collective of all PEs failed earlier"));
}

TEST_P(DeadlineTest, AbortOnTimeoutEndsTheJob) {
  PeGroup group = GetParam();
  group.options.wait_timeout = 1.5;
  group.options.wait_action = "abort";
  const Status status = run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const word, rt.callocate<std::uint64_t>(1));
    if (rt.pe() == 0) return wait_until(rt.context(), word, Cmp::kEq, std::uint64_t{1});
    for (;;) {  // not in any wait of its own
      Status alive = rt.health();
      if (!alive.is_ok()) return alive;
      std::this_thread::yield();
    }
  });
  if (is_pe_process()) return;
  EXPECT_FALSE(status.is_ok());
  EXPECT_THAT(std::string(status.text()), HasSubstr("wait_until on PE 0"));
}

std::vector<PeGroup> with_check() {
  Options options;
  options.check = true;
  return pe_groups({1, 3}, options);
}

INSTANTIATE_TEST_SUITE_P(Pes, DeadlineTest, ::testing::ValuesIn(pe_groups({1, 3})), pe_group_name);
INSTANTIATE_TEST_SUITE_P(Checked, DeadlineTest, ::testing::ValuesIn(with_check()), pe_group_name);

// --- operations that fail ------------------------------------------------------------------------

// Nothing gets through: a barrier ends with its report.
TEST(LostOperations, ABarrierEndsAtTheDeadline) {
  PeGroup group{Pes::kThreads, 2, {}, {}};
  group.options.fault = "drop=1";
  group.options.wait_timeout = 0.2;
  const Status status = run_pes(group, [](Runtime& rt) -> Status { return rt.barrier(); });
  EXPECT_CODE(status, Code::kTimeout);
  EXPECT_THAT(std::string(status.text()), HasSubstr("barrier on PE"));
}

// quiet cannot know any more what is complete: the context has failed, and says the same at once,
// whatever it is asked. Another one goes on.
TEST(LostOperations, AContextWhoseQuietEndedHasFailed) {
  PeGroup group{Pes::kThreads, 1, {}, {}};
  group.options.fault = "drop=1";
  group.options.wait_timeout = 0.2;
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const word, rt.callocate<std::uint64_t>(1));
    ASSIGN_OR_RETURN(Context ctx, rt.create_context());
    std::uint64_t value = 1;
    EXPECT_OK(ctx.put(word, &value, 1, 0));
    const Status first = ctx.quiet();
    EXPECT_CODE(first, Code::kTimeout);
    EXPECT_THAT(std::string(first.text()),
                AllOf(HasSubstr("quiet on PE 0"), HasSubstr("1 operations"), HasSubstr("lane")));
    for (const Status& again : {ctx.put(word, &value, 1, 0), ctx.get(&value, word, 1, 0),
                                ctx.atomic_inc(word, 0), ctx.fence(), ctx.quiet()})
      EXPECT_EQ(again.to_string(), first.to_string());
    ASSIGN_OR_RETURN(Context fetching, rt.create_context());
    const auto fetched = fetching.atomic_fetch(word, 0);
    EXPECT_CODE(fetched, Code::kTimeout);
    EXPECT_THAT(std::string(fetched.status().text()), HasSubstr("no answer"));
    ASSIGN_OR_RETURN(Context fresh, rt.create_context());
    EXPECT_OK(fresh.fence());
    EXPECT_OK(fresh.quiet());
    return Status::ok();
  }));
}

// fail_after: the post says so, and quiet says it again, once.
TEST(LostOperations, QuietReturnsTheFirstFailure) {
  PeGroup group{Pes::kThreads, 1, {}, {}};
  group.options.fault = "fail_after=20";
  EXPECT_OK(run_pes(group, [](Runtime& rt) -> Status {
    auto word = rt.allocate<std::uint64_t>(1);
    RETURN_IF_ERROR(status_of(word));
    ASSIGN_OR_RETURN(Context ctx, rt.create_context());
    Status first;
    for (std::uint64_t i = 0; i < 25; ++i) {
      Status status = ctx.put_nbi(*word, &i, 1, 0);
      EXPECT_EQ(status.is_ok(), i < 20) << i;
      if (first.is_ok()) first = status;
    }
    EXPECT_CODE(first, Code::kIo);
    EXPECT_THAT(std::string(first.text()), HasSubstr("put of 8 bytes to PE 0"));
    const Status quiet = ctx.quiet();
    EXPECT_EQ(quiet.to_string(), first.to_string());
    EXPECT_OK(ctx.quiet());
    return Status::ok();
  }));
}

// kill_pe: operations to one PE fail, those to others go on.
TEST(LostOperations, AnUnreachablePeerFailsAlone) {
  PeGroup group{Pes::kThreads, 3, {}, {}};
  group.options.fault = "kill_pe=1,kill_after=50";
  group.options.wait_timeout = 5;
  std::atomic<int> lost{0};
  run_pes(group, [&](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const word, rt.callocate<std::uint64_t>(1));
    if (rt.pe() != 0) return wait_until(rt.context(), word, Cmp::kEq, std::uint64_t{1000});
    ASSIGN_OR_RETURN(Context ctx, rt.create_context());
    for (int i = 0; i < 200; ++i) {
      if (ctx.atomic_add(word, std::uint64_t{1}, 1).is(Code::kPeerLost)) ++lost;
      RETURN_IF_ERROR(ctx.atomic_add(word, std::uint64_t{5}, 2));
    }
    EXPECT_CODE(ctx.quiet(), Code::kPeerLost);
    ASSIGN_OR_RETURN(const std::uint64_t seen, ctx.atomic_fetch(word, 2));
    EXPECT_EQ(seen, 1000u);
    return Status::error(Code::kIo, "enough");  // ends PE 1, which waits in vain
  }).ignore();
  EXPECT_EQ(lost, 150);
}

}  // namespace
}  // namespace weft
