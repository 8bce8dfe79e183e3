// Whole runtimes over transports that misbehave: what the memory model allows changes nothing, and
// what it does not ends every wait with a text. No hang, no crash, and nothing that was said to be
// complete is missing.
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/device.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

Options with_fault(const std::string& fault, double wait_timeout) {
  Options options;
  options.fault = fault + ",seed=" + std::to_string(test_seed() & 0xffffffff);
  options.wait_timeout = wait_timeout;
  options.heap_size = std::uint64_t{64} << 20;
  options.heap_chunk = std::uint64_t{8} << 20;
  return options;
}

// The status that each PE saw; bodies of failing jobs return ok, so that no PE is ended by
// another's failure.
class Seen {
 public:
  void note(int pe, const Status& status) {
    std::lock_guard lock(mutex_);
    if (statuses_.size() <= static_cast<std::size_t>(pe)) statuses_.resize(pe + 1);
    statuses_[static_cast<std::size_t>(pe)] = status;
  }
  const Status& of(int pe) const { return statuses_.at(static_cast<std::size_t>(pe)); }

 private:
  std::mutex mutex_;
  std::vector<Status> statuses_;
};

// As run_local, but nobody takes the job down while another still looks at its own end of things.
Status run_together(int npes, const std::function<Status(Runtime&)>& body, const Options& options) {
  std::barrier<> all(npes);
  const auto body_then_meet = [&](Runtime& rt) {
    Status status = body(rt);
    all.arrive_and_wait();
    return status;
  };
  return run_local(npes, body_then_meet, options);
}

// --- faults that a program must not notice ----------------------------------------------------

struct RingKernel {
  DeviceContext handle;
  std::uint64_t* data;
  std::uint64_t* signal;
  std::uint64_t* flag;
  std::uint64_t* sum;
  std::uint64_t rounds;

  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    const int right = (ctx.pe() + 1) % ctx.npes();
    const int left = (ctx.pe() + ctx.npes() - 1) % ctx.npes();
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      std::uint64_t values[5];
      for (std::uint64_t i = 0; i < 5; ++i) values[i] = round * 100 + i;
      ctx.put(dev::Thread{}, data, values, 5, right, set(signal, round));
      if (!ctx.wait_until(dev::Thread{}, signal, Cmp::kGe, round)) return;
      for (std::uint64_t i = 0; i < 5; ++i)
        if (data[i] == round * 100 + i) ctx.atomic_add(sum, std::uint64_t{1}, 0);
      ctx.signal(set(flag, round), left);  // read: the left one may write again
      if (!ctx.wait_until(dev::Thread{}, flag, Cmp::kGe, round)) return;
    }
    ctx.quiet(dev::Thread{});
  }
};

Status kernel_rounds(Runtime& rt) {
  constexpr std::uint64_t kRounds = 8;
  ASSIGN_OR_RETURN(auto* words, rt.callocate<std::uint64_t>(8));
  ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
  RETURN_IF_ERROR(dev::launch({.blocks = 1, .threads = 1},
                              RingKernel{handle, words, words + 5, words + 6, words + 7, kRounds}));
  RETURN_IF_ERROR(dev::synchronize());
  RETURN_IF_ERROR(rt.barrier());
  if (rt.pe() == 0) {
    EXPECT_EQ(words[7], 5 * kRounds * static_cast<std::uint64_t>(rt.npes()));
  }
  return rt.health();
}

Status host_rounds(Runtime& rt) {
  Context& ctx = rt.context();
  const int right = (rt.pe() + 1) % rt.npes();
  const int left = (rt.pe() + rt.npes() - 1) % rt.npes();
  ASSIGN_OR_RETURN(auto* bytes, rt.allocate<unsigned char>(70000));
  ASSIGN_OR_RETURN(auto* signals, rt.callocate<std::uint64_t>(4));
  std::mt19937_64 sizes(test_seed());
  for (std::uint64_t round = 1; round <= 12; ++round) {
    const std::size_t count = sizes() % 5 == 0 ? 65537 : sizes() % 300;
    std::vector<unsigned char> source(count, static_cast<unsigned char>(round + rt.pe()));
    if (round % 2 == 0) {
      RETURN_IF_ERROR(ctx.put(bytes, source.data(), count, right, set(signals, round)));
    } else {
      RETURN_IF_ERROR(ctx.put(bytes, source.data(), count, right));
      RETURN_IF_ERROR(ctx.fence());
      RETURN_IF_ERROR(ctx.signal(set(signals, round), right));
    }
    source.assign(count, 0);
    RETURN_IF_ERROR(wait_until(ctx, signals, Cmp::kEq, round));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
      wrong += bytes[i] != static_cast<unsigned char>(round + static_cast<unsigned>(left));
    EXPECT_EQ(wrong, 0u) << "round " << round;
    RETURN_IF_ERROR(ctx.atomic_add(signals + 2, std::uint64_t{1}, 0));
    RETURN_IF_ERROR(ctx.signal(set(signals + 1, round), left));
    RETURN_IF_ERROR(wait_until(ctx, signals + 1, Cmp::kEq, round));
  }
  RETURN_IF_ERROR(rt.barrier());
  ASSIGN_OR_RETURN(const std::uint64_t total, ctx.atomic_fetch(signals + 2, 0));
  EXPECT_EQ(total, 12u * static_cast<unsigned>(rt.npes()));
  return rt.barrier();
}

Status collective_rounds(Runtime& rt) {
  ASSIGN_OR_RETURN(auto* mine, rt.allocate<int>(100));
  ASSIGN_OR_RETURN(auto* sums, rt.allocate<int>(100));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 100; ++i) mine[i] = round + i * (rt.pe() + 1);
    RETURN_IF_ERROR(reduce(rt.context(), rt.world(), sums, mine, 100, ReduceOp::kSum));
    const int n = rt.npes();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(sums[i], n * round + i * n * (n + 1) / 2);
    RETURN_IF_ERROR(rt.barrier());
  }
  return rt.barrier();
}

class AllowedFaults : public ::testing::TestWithParam<const char*> {
 protected:
  Options options() const { return with_fault(GetParam(), 120); }
};

TEST_P(AllowedFaults, HostProgramsDoNotNotice) { EXPECT_OK(run_local(3, host_rounds, options())); }
TEST_P(AllowedFaults, KernelsDoNotNotice) { EXPECT_OK(run_local(3, kernel_rounds, options())); }
TEST_P(AllowedFaults, CollectivesDoNotNotice) {
  EXPECT_OK(run_local(3, collective_rounds, options()));
}

INSTANTIATE_TEST_SUITE_P(
    All, AllowedFaults,
    ::testing::Values("late=1", "delay=0.3", "duplicate=0.5", "busy=0.4", "max_bytes=16",
                      "late=1,delay=0.2,duplicate=0.3,busy=0.3,max_bytes=100"));

// --- lost operations ----------------------------------------------------------------------------

TEST(Drop, AQuietEndsWithAText) {
  Seen seen;
  EXPECT_OK(run_together(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(auto* words, rt.allocate<std::uint64_t>(2));
        RETURN_IF_ERROR(rt.context().p(words, std::uint64_t{1}, 1 - rt.pe()));
        seen.note(rt.pe(), rt.context().quiet());
        // And does not wait again for what will never come.
        EXPECT_CODE(rt.context().quiet(), Code::kTimeout);
        return Status::ok();
      },
      with_fault("drop=1", 0.3)));
  for (int pe = 0; pe < 2; ++pe) {
    EXPECT_CODE(seen.of(pe), Code::kTimeout);
    const std::string text(seen.of(pe).text());
    EXPECT_THAT(text, HasSubstr("quiet on PE " + std::to_string(pe)));
    EXPECT_THAT(text, HasSubstr("1 operations"));
    EXPECT_THAT(text, HasSubstr("WEFT_WAIT_TIMEOUT"));
  }
}

TEST(Drop, ABlockingGetAndAFetchEndWithAText) {
  Seen gets, fetches;
  EXPECT_OK(run_together(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(auto* words, rt.allocate<std::uint64_t>(2));
        gets.note(rt.pe(), rt.context().g(words, 1 - rt.pe()).status());
        ASSIGN_OR_RETURN(Context other, rt.create_context());
        fetches.note(rt.pe(), other.atomic_fetch(words, 1 - rt.pe()).status());
        return Status::ok();
      },
      with_fault("drop=1", 0.3)));
  for (int pe = 0; pe < 2; ++pe) {
    EXPECT_CODE(gets.of(pe), Code::kTimeout);
    EXPECT_THAT(std::string(gets.of(pe).text()), HasSubstr("get on PE"));
    EXPECT_CODE(fetches.of(pe), Code::kTimeout);
    EXPECT_THAT(std::string(fetches.of(pe).text()), HasSubstr("atomic fetch on PE"));
  }
}

TEST(Drop, WhoWaitsForALostSignalIsTold) {
  Seen seen;
  EXPECT_OK(run_together(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(auto* word, rt.allocate<std::uint64_t>(1));
        __atomic_store_n(word, 0, __ATOMIC_RELAXED);  // a peer may already be putting
        RETURN_IF_ERROR(rt.context().signal(set(word, 7), 1 - rt.pe()));
        seen.note(rt.pe(), wait_until(rt.context(), word, Cmp::kEq, std::uint64_t{7}));
        return Status::ok();
      },
      with_fault("drop=1", 0.3)));
  for (int pe = 0; pe < 2; ++pe) {
    EXPECT_CODE(seen.of(pe), Code::kTimeout);
    const std::string text(seen.of(pe).text());
    EXPECT_THAT(text, HasSubstr("heap offset 0x"));
    EXPECT_THAT(text, HasSubstr("is 0, wanted"));
    EXPECT_THAT(text, HasSubstr("7"));
  }
}

// While quiet says ok, everything is there; once it does not, it says so.
TEST(Drop, WhatQuietCalledCompleteIsThere) {
  std::uint64_t* heaps[2] = {};
  std::mutex mutex;
  int complete = 0;
  EXPECT_OK(run_together(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(auto* words, rt.allocate<std::uint64_t>(1000));
        std::memset(words, 0, 8000);
        {
          std::lock_guard lock(mutex);
          heaps[rt.pe()] = words;
        }
        if (rt.pe() == 1) return Status::ok();
        for (;;) {  // PE 1 has its words
          std::lock_guard lock(mutex);
          if (heaps[1] != nullptr) break;
        }
        for (std::uint64_t i = 0; i < 1000; ++i) {
          RETURN_IF_ERROR(rt.context().p(words + i, i + 1, 1));
          const Status status = rt.context().quiet();
          if (!status.is_ok()) {
            EXPECT_CODE(status, Code::kTimeout);
            return Status::ok();
          }
          EXPECT_EQ(__atomic_load_n(heaps[1] + i, __ATOMIC_ACQUIRE), i + 1);
          ++complete;
        }
        ADD_FAILURE() << "of 1000 puts none was lost";
        return Status::ok();
      },
      with_fault("drop=0.05", 0.3)));
  EXPECT_LT(complete, 1000);
}

struct LostKernel {
  DeviceContext handle;
  std::uint64_t* word;
  bool waits;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    ctx.p(word, std::uint64_t{1}, (ctx.pe() + 1) % ctx.npes());
    if (waits)
      ctx.wait_until(dev::Thread{}, word, Cmp::kEq, std::uint64_t{1});
    else
      ctx.quiet(dev::Thread{});
  }
};

Status run_lost_kernel(Runtime& rt, bool waits) {
  ASSIGN_OR_RETURN(auto* word, rt.allocate<std::uint64_t>(1));
  __atomic_store_n(word, 0, __ATOMIC_RELAXED);  // a peer may already be putting
  ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
  RETURN_IF_ERROR(dev::launch({.blocks = 1, .threads = 1}, LostKernel{handle, word, waits}));
  return dev::synchronize();
}

TEST(Drop, AKernelEndsAndHealthSaysWhy) {
  for (const bool waits : {false, true}) {
    Seen seen;
    EXPECT_OK(run_together(
        2,
        [&](Runtime& rt) -> Status {
          RETURN_IF_ERROR(run_lost_kernel(rt, waits));
          seen.note(rt.pe(), rt.health());
          return Status::ok();
        },
        with_fault("drop=1", 0.3)));
    for (int pe = 0; pe < 2; ++pe) {
      EXPECT_CODE(seen.of(pe), Code::kTimeout);
      const std::string text(seen.of(pe).text());
      if (waits) {
        EXPECT_THAT(text, HasSubstr("kernel on PE " + std::to_string(pe)));
        EXPECT_THAT(text, HasSubstr("saw 0, wanted == 1"));
      } else {
        // The kernel and the proxy both notice; whichever is first.
        EXPECT_THAT(text, HasSubstr("kernel"));
        EXPECT_THAT(text, HasSubstr("WEFT_WAIT_TIMEOUT"));
      }
    }
  }
}

TEST(Drop, WaitActionAbortEndsTheWholeJob) {
  Options options = with_fault("drop=1", 0.3);
  options.wait_action = "abort";
  Seen seen;
  const Status status = run_together(
      3,
      [&](Runtime& rt) -> Status {
        const auto wait = [&]() -> Status {
          ASSIGN_OR_RETURN(auto* word, rt.allocate<std::uint64_t>(1));
          __atomic_store_n(word, 0, __ATOMIC_RELAXED);  // a peer may already be putting
          if (rt.pe() != 0) return wait_until(rt.context(), word, Cmp::kEq, std::uint64_t{9});
          RETURN_IF_ERROR(rt.context().p(word, std::uint64_t{1}, 1));
          return rt.context().quiet();
        };
        const Status waited = wait();  // a late PE may already fail in allocate()
        seen.note(rt.pe(), waited);
        return waited;
      },
      options);
  EXPECT_FALSE(status.is_ok());
  for (int pe = 0; pe < 3; ++pe) EXPECT_FALSE(seen.of(pe).is_ok()) << pe;
}

// --- failures ------------------------------------------------------------------------------------

TEST(FailAfter, TheCallSaysSoAndEveryLaterOneToo) {
  Seen seen;
  EXPECT_OK(run_together(
      2,
      [&](Runtime& rt) -> Status {
        ASSIGN_OR_RETURN(auto* words, rt.allocate<std::uint64_t>(100));
        Status status;
        for (int i = 0; i < 100 && status.is_ok(); ++i)
          status = rt.context().p(words + i, std::uint64_t{1}, 1 - rt.pe());
        seen.note(rt.pe(), status);
        EXPECT_FALSE(rt.context().p(words, std::uint64_t{1}, 1 - rt.pe()).is_ok());
        rt.context().quiet().ignore();  // returns, with or without the failure
        return Status::ok();
      },
      with_fault("fail_after=20", 5)));
  for (int pe = 0; pe < 2; ++pe) {
    EXPECT_CODE(seen.of(pe), Code::kIo);
    EXPECT_THAT(std::string(seen.of(pe).text()), HasSubstr("fail_after=20"));
  }
}

TEST(FailAfter, AKernelEndsAndHealthSaysWhy) {
  Seen seen;
  EXPECT_OK(run_together(
      2,
      [&](Runtime& rt) -> Status {
        for (int i = 0; i < 5; ++i) RETURN_IF_ERROR(run_lost_kernel(rt, false));
        seen.note(rt.pe(), rt.health());
        return Status::ok();
      },
      with_fault("fail_after=3", 5)));
  for (int pe = 0; pe < 2; ++pe) {
    EXPECT_CODE(seen.of(pe), Code::kIo);
    EXPECT_THAT(std::string(seen.of(pe).text()), HasSubstr("of the kernels of context 0"));
    EXPECT_THAT(std::string(seen.of(pe).text()), HasSubstr("fail_after=3"));
  }
}

TEST(KillPe, OnlyWhoSpeaksToItIsTold) {
  for (const char* late : {"", ",late=1"}) {
    Seen to_dead, to_living;
    EXPECT_OK(run_together(
        3,
        [&](Runtime& rt) -> Status {
          ASSIGN_OR_RETURN(auto* words, rt.allocate<std::uint64_t>(10));
          ASSIGN_OR_RETURN(Context other, rt.create_context());
          Context& ctx = rt.context();
          const int living = rt.pe() == 0 ? 2 : 0;
          RETURN_IF_ERROR(other.p(words, std::uint64_t{1}, living));
          to_living.note(rt.pe(), other.quiet());
          // An op that is posted or held when PE 1 dies fails at the call or at the quiet.
          Status status;
          for (int i = 0; i < 5 && status.is_ok(); ++i)
            status = ctx.p(words + 1 + i, std::uint64_t{1}, 1);
          if (status.is_ok()) status = ctx.quiet();
          to_dead.note(rt.pe(), status);
          return Status::ok();
        },
        with_fault(std::string("kill_pe=1,kill_after=2") + late, 5)));
    for (int pe = 0; pe < 3; ++pe) {
      EXPECT_OK(to_living.of(pe));
      EXPECT_CODE(to_dead.of(pe), Code::kPeerLost);
      EXPECT_THAT(std::string(to_dead.of(pe).text()), HasSubstr("PE 1 is gone"));
    }
  }
}

TEST(KillPe, ABarrierWithADeadPeEndsOnEveryPe) {
  Seen seen;
  EXPECT_OK(run_together(
      3,
      [&](Runtime& rt) -> Status {
        seen.note(rt.pe(), rt.barrier());
        return Status::ok();
      },
      with_fault("kill_pe=1", 0.5)));
  for (int pe = 0; pe < 3; ++pe) {
    EXPECT_FALSE(seen.of(pe).is_ok()) << pe;
    EXPECT_STRNE(seen.of(pe).text(), "");
  }
}

TEST(KillPe, AKernelEndsAndHealthSaysWhy) {
  Seen seen;
  EXPECT_OK(run_together(
      2,
      [&](Runtime& rt) -> Status {
        RETURN_IF_ERROR(run_lost_kernel(rt, false));
        if (rt.pe() == 0) seen.note(0, rt.health());
        return Status::ok();
      },
      with_fault("kill_pe=1", 5)));
  EXPECT_CODE(seen.of(0), Code::kPeerLost);
  EXPECT_THAT(std::string(seen.of(0).text()), HasSubstr("PE 1 is gone"));
}

TEST(BadFault, StartUpRefusesItWithTheKnownKeys) {
  const Status status = run_local(
      2, [](Runtime&) { return Status::ok(); }, with_fault("latte=1", 5));
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()), HasSubstr("'latte'"));
  EXPECT_THAT(std::string(status.text()), HasSubstr("late"));
}

}  // namespace
}  // namespace weft
