// The grid engine of the CPU target, below the device API: raw entries and thread states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <weft/device/cpu_grid.hpp>

#include "src/platform/platform.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/platform/child.hpp"
#include "tests/support/sanitizer.hpp"

namespace weft::cpu {
namespace {

using testing::HasSubstr;

// Launches a callable that takes a ThreadState&.
template <class Kernel>
Status run(unsigned blocks, unsigned threads, Kernel kernel, Stream stream = nullptr,
           std::size_t shared = 0) {
  const auto entry = [](const void* at, ThreadState& self) {
    (*static_cast<const Kernel*>(at))(self);
  };
  return launch(blocks, threads, shared, entry, std::make_shared<const Kernel>(std::move(kernel)),
                stream);
}

template <class Done>
void spin_until(Done done) {
  while (!done()) ::sched_yield();
}

std::string text(const Status& status) { return std::string(status.text()); }

std::size_t threads_of_process() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

class OwnStream {
 public:
  OwnStream() { EXPECT_TRUE(create_stream(&stream_)); }
  ~OwnStream() { EXPECT_TRUE(destroy_stream(stream_)); }
  operator Stream() const { return stream_; }

 private:
  Stream stream_ = nullptr;
};

TEST(CpuGrid, EveryThreadIsThereOnceWithItsIdentity) {
  const std::pair<unsigned, unsigned> shapes[] = {{1, 1},  {1, 2},  {2, 1},  {3, 5},
                                                  {1, 64}, {7, 13}, {64, 1}, {2, 65}};
  for (const auto& [blocks, threads] : shapes) {
    std::vector<std::atomic<int>> seen(blocks * threads);
    std::atomic<int> wrong{0};
    ASSERT_TRUE(run(blocks, threads, [&, blocks = blocks, threads = threads](ThreadState& self) {
      const bool well = self.blocks == blocks && self.threads == threads && self.block < blocks &&
                        self.thread < threads && self.spins == 0 && !self.fenced;
      if (!well) return void(++wrong);
      ++seen[self.block * threads + self.thread];
    }));
    ASSERT_TRUE(synchronize(nullptr));
    EXPECT_EQ(wrong, 0);
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(CpuGrid, AllThreadsRunAtOnce) {
  for (const unsigned blocks : {1u, 4u, 33u}) {
    std::atomic<unsigned> here{0};
    const unsigned all = blocks * 9;
    ASSERT_TRUE(run(blocks, 9, [&](ThreadState&) {
      ++here;
      spin_until([&] { return here == all; });
    }));
    ASSERT_TRUE(synchronize(nullptr));
    EXPECT_EQ(here, all);
  }
}

TEST(CpuGrid, BlocksHaveFreshBarriersAndMemoryOfTheirOwn) {
  struct Seen {
    std::atomic<BlockState*> state{nullptr};
    std::atomic<int> wrong{0};
  };
  for (const auto& [threads, shared] :
       std::vector<std::pair<unsigned, std::size_t>>{{1, 0}, {5, 1}, {8, 1000}, {3, 1 << 20}}) {
    for (int again = 0; again < 2; ++again) {
      std::vector<Seen> blocks(6);
      ASSERT_TRUE(run(
          6, threads,
          [&, threads = threads, shared = shared](ThreadState& self) {
            Seen& mine = blocks[self.block];
            BlockState& state = *self.shared;
            BlockState* first = nullptr;
            if (!mine.state.compare_exchange_strong(first, &state) && first != &state) {
              ++mine.wrong;
            }
            if (self.thread != 0) return;
            bool well = state.barrier.arrived == 0 && state.barrier.phase == 0;
            for (unsigned w = 0; w < (threads + kWarpSize - 1) / kWarpSize; ++w) {
              well &= state.warp_barriers[w].arrived == 0 && state.warp_barriers[w].phase == 0;
              state.warp_barriers[w].phase = 9;  // the next grid must not see it
            }
            for (unsigned i = 0; i < 2 * threads; ++i) {
              well &= state.exchange[i] == 0;
              state.exchange[i] = self.block;
            }
            state.barrier.phase = 9;
            well &= state.shared_bytes == shared && (state.shared != nullptr) == (shared > 0);
            well &= reinterpret_cast<std::uintptr_t>(state.shared) % 64 == 0;
            if (shared > 0) std::memset(state.shared, static_cast<int>(self.block), shared);
            for (std::size_t i = 0; i < shared; ++i) {
              well &= state.shared[i] == static_cast<std::byte>(self.block);
            }
            if (!well) ++mine.wrong;
          },
          nullptr, shared));
      ASSERT_TRUE(synchronize(nullptr));
      std::set<BlockState*> different;
      for (const Seen& block : blocks) {
        EXPECT_EQ(block.wrong, 0);
        different.insert(block.state);
      }
      EXPECT_EQ(different.size(), blocks.size());
    }
  }
}

TEST(CpuGrid, ALaunchReturnsBeforeTheKernelEnds) {
  std::atomic<bool> go{false};
  std::atomic<int> done{0};
  ASSERT_TRUE(run(2, 2, [&](ThreadState&) {
    spin_until([&] { return go.load(); });
    ++done;
  }));
  EXPECT_EQ(done, 0);
  go = true;
  ASSERT_TRUE(synchronize(nullptr));
  EXPECT_EQ(done, 4);
}

// Plain memory handed from grid to grid and to the host: ThreadSanitizer checks the order, too.
TEST(CpuGrid, AStreamRunsInOrder) {
  std::mt19937_64 random(test_seed());
  const OwnStream stream;
  std::vector<int> values(64, 0);
  std::vector<unsigned> shape;
  for (int i = 0; i < 200; ++i) {
    const unsigned threads = 1 + static_cast<unsigned>(random() % 16);
    ASSERT_TRUE(run(
        4, threads,
        [&values, threads, i](ThreadState& self) {
          for (std::size_t v = self.block * threads + self.thread; v < 64; v += 4 * threads) {
            values[v] = values[v] == i ? i + 1 : -1;
          }
        },
        stream));
  }
  ASSERT_TRUE(synchronize(stream));
  for (const int value : values) EXPECT_EQ(value, 200);
}

TEST(CpuGrid, ManyLaunchesOfAllSizes) {
  std::mt19937_64 random(test_seed());
  std::atomic<std::uint64_t> ran{0};
  std::uint64_t wanted = 0;
  for (int i = 0; i < 500; ++i) {
    const unsigned blocks = 1 + static_cast<unsigned>(random() % 6);
    const unsigned threads = 1 + static_cast<unsigned>(random() % 12);
    wanted += blocks * threads;
    ASSERT_TRUE(run(blocks, threads, [&](ThreadState&) { ++ran; }));
    if (random() % 4 == 0) {
      ASSERT_TRUE(synchronize(nullptr));
      ASSERT_EQ(ran, wanted);
    }
  }
  ASSERT_TRUE(synchronize(nullptr));
  EXPECT_EQ(ran, wanted);
}

TEST(CpuGrid, StreamsRunBesideEachOther) {
  const OwnStream first, second;
  std::atomic<int> turn{0};
  // Each waits for the other: only possible when both run.
  ASSERT_TRUE(run(
      2, 2, [&](ThreadState&) { spin_until([&] { return turn >= 4; }); }, first));
  ASSERT_TRUE(run(
      2, 2, [&](ThreadState&) { ++turn; }, second));
  ASSERT_TRUE(synchronize(first));
  ASSERT_TRUE(synchronize(second));
}

TEST(CpuGrid, EveryHostThreadHasADefaultStream) {
  std::atomic<int> here{0};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 4; ++host) {
    hosts.emplace_back([&] {
      EXPECT_TRUE(run(1, 3, [&](ThreadState&) {
        ++here;
        spin_until([&] { return here >= 4 * 3; });
      }));
      EXPECT_TRUE(synchronize(nullptr));
    });
  }
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(here, 12);
}

TEST(CpuGrid, AHostThreadThatEndsWaitsForItsKernels) {
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
  std::thread host([&] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(run(1, 2, [&](ThreadState&) {
        spin_until([&] { return go.load(); });
        ++ran;
      }));
    }
  });
  go = true;
  host.join();
  EXPECT_EQ(ran, 6);
}

TEST(CpuGrid, SeveralHostThreadsMayUseOneStream) {
  const OwnStream stream;
  std::uint64_t sum = 0;  // plain: the stream's order is all that guards it
  std::vector<std::thread> hosts;
  for (int host = 0; host < 4; ++host) {
    hosts.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(run(
            1, 2, [&](ThreadState& self) { self.thread == 0 ? void(++sum) : void(); }, stream));
        if (i % 10 == 0) {
          EXPECT_TRUE(synchronize(stream));
        }
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  ASSERT_TRUE(synchronize(stream));
  EXPECT_EQ(sum, 200u);
}

TEST(CpuGrid, TheKernelIsGoneWhenSynchronizeReturns) {
  for (int i = 0; i < 50; ++i) {
    auto held = std::make_shared<int>(7);
    const std::weak_ptr<int> watched = held;
    ASSERT_TRUE(run(2, 3, [held = std::move(held)](ThreadState&) { ASSERT_EQ(*held, 7); }));
    ASSERT_TRUE(synchronize(nullptr));
    ASSERT_TRUE(watched.expired());
  }
}

TEST(CpuGrid, ThreadsAreUsedAgain) {
  const auto launch_some = [] {
    const OwnStream stream;
    std::atomic<int> here{0};
    ASSERT_TRUE(run(
        8, 8,
        [&](ThreadState&) {
          ++here;
          spin_until([&] { return here == 64; });
        },
        stream));
    ASSERT_TRUE(synchronize(stream));
  };
  launch_some();
  const std::size_t threads = threads_of_process();
  // A thread may still be on its way to the bench when the next stream looks there.
  for (int i = 0; i < 100; ++i) launch_some();
  EXPECT_LE(threads_of_process(), threads + 2 * 64);
}

TEST(CpuGrid, CopiesAreInStreamOrder) {
  std::mt19937_64 random(test_seed());
  Platform& platform = cpu_platform();
  const auto stream = platform.create_stream();
  ASSERT_TRUE(stream);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{1} << 20}) {
    std::vector<std::byte> source(bytes), middle(bytes, std::byte{0xee}), end(bytes);
    const std::vector<std::byte> data = random_bytes(random, bytes);
    ASSERT_TRUE(run(
        1, 1, [&](ThreadState&) { std::memcpy(source.data(), data.data(), bytes); }, *stream));
    ASSERT_TRUE(platform.copy(middle.data(), source.data(), bytes, *stream));
    ASSERT_TRUE(platform.copy(end.data(), middle.data(), bytes, *stream));
    ASSERT_TRUE(platform.synchronize(*stream));
    EXPECT_EQ(end, data);
  }
  EXPECT_TRUE(platform.copy(nullptr, nullptr, 0, *stream));
  EXPECT_FALSE(platform.copy(nullptr, &random, 1, *stream));
  EXPECT_FALSE(platform.copy(&random, nullptr, 1, *stream));
  EXPECT_TRUE(platform.destroy_stream(*stream));
}

// --- what is refused -----------------------------------------------------------------------------

TEST(CpuGrid, RefusesEmptyAndHugeGrids) {
  const auto never = [](ThreadState&) { ADD_FAILURE() << "it ran"; };
  for (const auto& [blocks, threads] :
       std::vector<std::pair<unsigned, unsigned>>{{0, 1}, {1, 0}, {0, 0}}) {
    const Status empty = run(blocks, threads, never);
    EXPECT_TRUE(empty.is(Code::kInvalidArgument));
    EXPECT_THAT(text(empty), HasSubstr("both must be at least 1"));
  }
  for (const auto& [blocks, threads] : std::vector<std::pair<unsigned, unsigned>>{
           {1, 70000}, {70000, 1}, {65536, 65536}, {4294967295u, 4294967295u}}) {
    const Status large = run(blocks, threads, never);
    EXPECT_TRUE(large.is(Code::kOutOfRange));
    EXPECT_THAT(text(large), HasSubstr("more than WEFT_DEVICE_THREADS="));
  }
  const Status shared = run(1, 1, never, nullptr, ~std::size_t{0} >> 2);
  EXPECT_TRUE(shared.is(Code::kOutOfMemory)) << shared.to_string();
  EXPECT_THAT(text(shared), HasSubstr("shared memory"));
  EXPECT_TRUE(synchronize(nullptr));
}

TEST(CpuGrid, RefusesWhatIsNoStream) {
  EXPECT_TRUE(destroy_stream(nullptr).is(Code::kInvalidArgument));
  std::uint64_t words[64] = {};
  const auto nothing = [](ThreadState&) {};
  EXPECT_TRUE(run(1, 1, nothing, words).is(Code::kInvalidArgument));
  EXPECT_TRUE(synchronize(words).is(Code::kInvalidArgument));
  EXPECT_TRUE(destroy_stream(words).is(Code::kInvalidArgument));
  EXPECT_THAT(text(synchronize(words)), HasSubstr("is not a stream"));
}

TEST(CpuGrid, DestroyWaitsForWhatIsQueued) {
  std::atomic<int> ran{0};
  Stream stream = nullptr;
  ASSERT_TRUE(create_stream(&stream));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(run(
        2, 2, [&](ThreadState&) { ++ran; }, stream));
  }
  ASSERT_TRUE(destroy_stream(stream));
  EXPECT_EQ(ran, 80);
}

TEST(CpuGrid, ARefusedThreadIsAnErrorAndNothingRuns) {
  if (kAsan || kTsan) GTEST_SKIP() << "sanitizers need all the address space";
  test::Child child([](const test::Line&) -> bool {
    const rlimit small{std::size_t{256} << 20, std::size_t{1} << 40};
    ::setrlimit(RLIMIT_AS, &small);  // room for some stacks, not for 4000
    std::atomic<int> ran{0};
    const Status refused = run(40, 100, [&](ThreadState&) { ++ran; });
    bool well = test::expect(!refused, "4000 threads in 256 MiB");
    well &= test::expect(refused.is(Code::kOutOfMemory), refused.to_string());
    well &= test::expect(text(refused).find("nothing was run") != std::string::npos,
                         refused.to_string());
    const Status few = run(2, 2, [&](ThreadState&) { ++ran; });
    well &= test::expect(bool(few) && bool(synchronize(nullptr)), few.to_string());
    return well && test::expect(ran == 4, "only the small grid ran");
  });
  EXPECT_TRUE(child.wait());
}

TEST(CpuGrid, AForkedChildLaunchesOnThreadsOfItsOwn) {
  if (kTsan) GTEST_SKIP() << "ThreadSanitizer cannot start threads after such a fork";
  const OwnStream stream;
  ASSERT_TRUE(run(2, 2, [](ThreadState&) {}));
  ASSERT_TRUE(run(
      2, 2, [](ThreadState&) {}, stream));
  ASSERT_TRUE(synchronize(nullptr));
  test::Child child([&](const test::Line&) -> bool {
    std::atomic<int> ran{0};
    const Status launched = run(2, 2, [&](ThreadState&) { ++ran; });
    bool well = test::expect(bool(launched) && bool(synchronize(nullptr)), launched.to_string());
    well &= test::expect(ran == 4, "four threads of the child");
    const Status refused = run(
        1, 1, [&](ThreadState&) { ++ran; }, stream);
    well &= test::expect(refused.is(Code::kInvalidArgument), "the parent's stream");
    return well && test::expect(text(refused).find("before fork()") != std::string::npos,
                                refused.to_string());
  });
  EXPECT_TRUE(child.wait());
}

// --- the engine adds no order ----------------------------------------------------------------

// Each program below has a data race that the engine must not hide; it is only run as a child of
// the next test, which expects ThreadSanitizer to say so.
TEST(CpuGridRace, DISABLED_WithinAGrid) {
  std::uint64_t word = 0;
  std::atomic<int> here{0};
  ASSERT_TRUE(run(2, 2, [&](ThreadState&) {
    here.fetch_add(1, std::memory_order_relaxed);
    spin_until([&] { return here.load(std::memory_order_relaxed) == 4; });
    ++word;
  }));
  ASSERT_TRUE(synchronize(nullptr));
}

// One thread of the grid has long ended when another one uses what it wrote: not on its OS thread.
TEST(CpuGridRace, DISABLED_AfterTheEndOfAThread) {
  for (const unsigned writer : {0u, 1u, 6u}) {
    std::uint64_t words[8] = {};
    std::atomic<unsigned> written{0};
    ASSERT_TRUE(run(1, 8, [&](ThreadState& self) {
      if (self.thread == writer) {
        words[writer] = 1;
        written.store(1, std::memory_order_relaxed);
      } else if (self.thread == (writer + 1) % 8) {
        spin_until([&] { return written.load(std::memory_order_relaxed) == 1; });
        for (int i = 0; i < 1000; ++i) ::sched_yield();
        ++words[writer];
      }
    }));
    ASSERT_TRUE(synchronize(nullptr));
  }
}

// Every thread ends at once: each still ran on an OS thread of its own.
TEST(CpuGrid, NoTwoThreadsOfAGridShareAnOsThread) {
  for (int i = 0; i < 50; ++i) {
    std::vector<pthread_t> ids(24);
    ASSERT_TRUE(run(
        4, 6, [&](ThreadState& self) { ids[self.block * 6 + self.thread] = ::pthread_self(); }));
    ASSERT_TRUE(synchronize(nullptr));
    EXPECT_EQ(std::set<pthread_t>(ids.begin(), ids.end()).size(), 24u);
  }
}

// A grid that has ended and one on another stream: nobody synchronised.
TEST(CpuGridRace, DISABLED_BetweenStreams) {
  const OwnStream first, second;
  std::uint64_t word = 0;
  std::atomic<bool> written{false};
  ASSERT_TRUE(run(
      1, 2, [](ThreadState&) {}, second));  // both have threads
  ASSERT_TRUE(synchronize(second));
  ASSERT_TRUE(run(
      1, 2,
      [&](ThreadState& self) {
        if (self.thread == 0) word = 1;
        written.store(true, std::memory_order_relaxed);
      },
      first));
  spin_until([&] { return written.load(std::memory_order_relaxed); });
  for (int i = 0; i < 1000; ++i) ::sched_yield();
  ASSERT_TRUE(run(
      1, 2, [&](ThreadState& self) { word += self.thread; }, second));
  ASSERT_TRUE(synchronize(second));
  ASSERT_TRUE(synchronize(first));
}

class CpuGridOrder : public testing::TestWithParam<const char*> {};

TEST_P(CpuGridOrder, RacesAreSeen) {
  if (!kTsan) GTEST_SKIP() << "needs ThreadSanitizer";
  const std::string command = "TSAN_OPTIONS=exitcode=66:symbolize=0:atexit_sleep_ms=50 /proc/" +
                              std::to_string(::getpid()) +
                              "/exe --gtest_also_run_disabled_tests --gtest_filter=CpuGridRace." +
                              std::string("DISABLED_") + GetParam() + " >/dev/null 2>&1";
  int seen = 0;
  for (int i = 0; i < 5; ++i) {
    const int status = std::system(command.c_str());
    seen += WIFEXITED(status) && WEXITSTATUS(status) == 66 ? 1 : 0;
  }
  EXPECT_EQ(seen, 5);
}

INSTANTIATE_TEST_SUITE_P(All, CpuGridOrder,
                         testing::Values("WithinAGrid", "AfterTheEndOfAThread", "BetweenStreams"));

}  // namespace
}  // namespace weft::cpu
