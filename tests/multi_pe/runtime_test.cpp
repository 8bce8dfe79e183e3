// The life of runtimes: many, few, one after the other, side by side, and gone without a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Every PE adds to a word of every PE: all must be there, in every direction.
Status meet_everybody(Runtime& rt) {
  ASSIGN_OR_RETURN(auto* const word, rt.callocate<std::uint64_t>(1));
  Context& ctx = rt.context();
  for (int pe = 0; pe < rt.npes(); ++pe) RETURN_IF_ERROR(ctx.signal(add(word, 1), pe));
  const auto all = static_cast<std::uint64_t>(rt.npes());
  RETURN_IF_ERROR(signal_wait_until(ctx, word, Cmp::kEq, all).status());
  RETURN_IF_ERROR(rt.barrier());
  return rt.free(word);
}

std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

TEST(Runtime, SixtyFourThreads) {
  Options options;
  options.heap_size = 64 << 20;
  options.heap_chunk = 8 << 20;
  EXPECT_OK(run_local(
      64,
      [](Runtime& rt) -> Status {
        RETURN_IF_ERROR(meet_everybody(rt));
        ASSIGN_OR_RETURN(auto* const values, rt.allocate<int>(128));
        std::fill(values, values + 64, rt.pe());
        RETURN_IF_ERROR(reduce(rt.context(), rt.world(), values + 64, values, 64, ReduceOp::kSum));
        EXPECT_EQ(std::count(values + 64, values + 128, 63 * 64 / 2), 64);
        ASSIGN_OR_RETURN(Runtime::Split2d grid, rt.split_2d(rt.world(), 8));
        EXPECT_EQ(grid.x.size, 8);
        EXPECT_EQ(grid.y.rank, rt.pe() / 8);
        RETURN_IF_ERROR(sync(rt.context(), grid.y));
        return rt.barrier();
      },
      options));
}

TEST(Runtime, OneAfterTheOtherLeavesNothingBehind) {
  const auto job = [] { return run_local(3, meet_everybody); };
  EXPECT_OK(job());  // what is per process is there now
  const auto shm = names_in("/dev/shm");
  const auto fds = names_in("/proc/self/fd").size();
  for (int i = 0; i < 15; ++i) EXPECT_OK(job());
  EXPECT_EQ(names_in("/dev/shm"), shm);
  EXPECT_EQ(names_in("/proc/self/fd").size(), fds);
  // Nor does a job that fails half-way.
  for (int i = 0; i < 15; ++i) {
    EXPECT_CODE(run_local(3,
                          [](Runtime& rt) -> Status {
                            if (rt.pe() == 1) return Status::error(Code::kIo, "on purpose");
                            return rt.barrier();
                          }),
                Code::kIo);
  }
  EXPECT_EQ(names_in("/dev/shm"), shm);
  EXPECT_EQ(names_in("/proc/self/fd").size(), fds);
}

TEST(Runtime, JobsSideBySide) {
  std::vector<Status> results(4);
  std::vector<std::thread> jobs;
  for (std::size_t i = 0; i < results.size(); ++i)
    jobs.emplace_back([&, i] {
      results[i] = run_local(static_cast<int>(i) + 1, [](Runtime& rt) -> Status {
        for (int round = 0; round < 5; ++round) RETURN_IF_ERROR(meet_everybody(rt));
        return Status::ok();
      });
    });
  for (std::thread& job : jobs) job.join();
  for (const Status& result : results) EXPECT_OK(result);
}

TEST(Runtime, AJobOfOneByItself) {
  for (int i = 0; i < 3; ++i) {
    Options options;
    options.bootstrap = "single";
    auto first = Runtime::create(options);
    auto second = Runtime::create(options);
    ASSERT_OK(first);
    ASSERT_OK(second);
    EXPECT_EQ(first->npes(), 1);
    EXPECT_OK(meet_everybody(*first));
    Runtime moved = std::move(*second);
    EXPECT_EQ(&moved.context().runtime(), &moved);
    EXPECT_OK(meet_everybody(moved));
    moved = std::move(*first);  // the one that it was ends here
    EXPECT_EQ(&moved.context().runtime(), &moved);
    EXPECT_OK(meet_everybody(moved));
    EXPECT_OK(moved.health());
  }
}

class RuntimeTest : public ::testing::TestWithParam<PeGroup> {};

// A second runtime of the same PEs over tcp, while the first lives, and again after it.
TEST_P(RuntimeTest, SecondRuntimeInEveryPe) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(auto* const text, rt.callocate<char>(1024));
    for (int round = 0; round < 3; ++round) {
      std::optional<UniqueId> id;
      if (rt.pe() == 0) {
        ASSIGN_OR_RETURN(id, UniqueId::create(rt.npes(), rt.options()));
        std::copy_n(id->text().c_str(), id->text().size() + 1, text);
      }
      RETURN_IF_ERROR(broadcast(rt.context(), rt.world(), text, text, 1024, 0));
      ASSIGN_OR_RETURN(const UniqueId carried, UniqueId::parse(text));
      {
        // The other way round, so that the two jobs are really two.
        const int pe = rt.npes() - 1 - rt.pe();
        ASSIGN_OR_RETURN(Runtime second, Runtime::create(carried, pe, rt.npes(), rt.options()));
        EXPECT_EQ(second.pe(), pe);
        RETURN_IF_ERROR(meet_everybody(second));
        RETURN_IF_ERROR(meet_everybody(rt));
      }
      RETURN_IF_ERROR(meet_everybody(rt));
    }
    return Status::ok();
  }));
}

TEST_P(RuntimeTest, Describes) {
  EXPECT_OK(run_pes(GetParam(), [](Runtime& rt) -> Status {
    const std::string text = rt.describe();
    EXPECT_THAT(
        text, AllOf(HasSubstr("PE " + std::to_string(rt.pe()) + " of " + std::to_string(rt.npes())),
                    HasSubstr("heap: "), HasSubstr("teams: ")));
    const char* how = rt.options().fault.empty() ? "mapped at" : "through requests";
    for (int pe = 0; pe < rt.npes(); ++pe)
      EXPECT_THAT(text, HasSubstr("PE " + std::to_string(pe) + ": "));
    EXPECT_THAT(text, HasSubstr(how));
    EXPECT_OK(rt.health());
    return rt.barrier();
  }));
}

// Every PE that waits hears of the abort, with the reason, wherever it waits.
TEST_P(RuntimeTest, AbortReachesEverybody) {
  const PeGroup& group = GetParam();
  for (int where = 0; where < 4; ++where) {
    const PeBody body = [where](Runtime& rt) -> Status {
      auto word = rt.callocate<std::uint64_t>(1);
      if (rt.pe() == rt.npes() - 1) {
        EXPECT_OK(word.status());
        rt.abort(3, "had enough");
        EXPECT_CODE(rt.health(), Code::kAborted);
        EXPECT_CODE(rt.barrier(), Code::kAborted);
        EXPECT_CODE(rt.context().quiet(), Code::kAborted);
        EXPECT_CODE(rt.allocate_bytes(8), Code::kAborted);
        EXPECT_CODE(rt.create_context(), Code::kAborted);
        return Status::ok();
      }
      // A peer may still be inside the allocation's barrier when the abort comes.
      Status status = !word        ? word.status()
                      : where == 0 ? wait_until(rt.context(), *word, Cmp::kEq, std::uint64_t{1})
                      : where == 1 ? rt.barrier()
                      : where == 2 ? rt.callocate_bytes(8, 8).status()
                                   : rt.split_strided(rt.world(), 0, 1, 1).status();
      EXPECT_CODE(status, Code::kAborted);
      EXPECT_THAT(std::string(status.text()), HasSubstr("had enough"));
      return Status::ok();
    };
    EXPECT_OK(run_pes(group, body));
  }
}

INSTANTIATE_TEST_SUITE_P(Pes, RuntimeTest, ::testing::ValuesIn(pe_groups({1, 3})), pe_group_name);

// --- run_local -----------------------------------------------------------------------------------

TEST(RunLocal, TheFirstFailureIsTheResult) {
  std::atomic<int> aborted{0};
  const Status status = run_local(5, [&](Runtime& rt) -> Status {
    if (rt.pe() == 3) return Status::error(Code::kIo, "the disk of PE 3");
    Status waited = rt.barrier();
    EXPECT_CODE(waited, Code::kAborted);
    EXPECT_THAT(std::string(waited.text()), HasSubstr("the disk of PE 3"));
    ++aborted;
    return waited;
  });
  EXPECT_CODE(status, Code::kIo);
  EXPECT_EQ(aborted, 4);
}

TEST(RunLocal, ABodyThatThrows) {
  const Status status = run_local(3, [](Runtime& rt) -> Status {
    if (rt.pe() == 1) throw std::runtime_error("thrown on purpose");
    return rt.barrier();
  });
  EXPECT_CODE(status, Code::kAborted);
  EXPECT_THAT(std::string(status.text()), AllOf(HasSubstr("PE 1"), HasSubstr("thrown on purpose")));
}

TEST(RunLocal, WrongNumberOfPes) {
  for (const int npes : {0, -1}) {
    EXPECT_CODE(run_local(npes, [](Runtime&) { return Status::ok(); }), Code::kInvalidArgument);
  }
}

TEST(RunLocal, WrongOptionsAreTheResult) {
  Options options;
  options.transports = "p2p,pigeon";
  const Status status = run_local(
      2, [](Runtime&) { return Status::ok(); }, options);
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()), HasSubstr("pigeon"));
  options = {};
  options.wait_timeout = -1;
  const Status negative = run_local(
      2, [](Runtime&) { return Status::ok(); }, options);
  EXPECT_CODE(negative, Code::kInvalidArgument);
  EXPECT_THAT(std::string(negative.text()), HasSubstr("WEFT_WAIT_TIMEOUT"));
  EXPECT_CODE(Runtime::create(options).status(), Code::kInvalidArgument);
  options = {};
  options.heap_size = 1 << 20;
  options.max_teams = 4000;
  const Status small = run_local(
      2, [](Runtime&) { return Status::ok(); }, options);
  EXPECT_CODE(small, Code::kOutOfMemory);
  EXPECT_THAT(std::string(small.text()),
              AllOf(HasSubstr("WEFT_MAX_TEAMS"), HasSubstr("WEFT_HEAP_SIZE")));
}

// A PE that fails goes away at once, while others may be in the middle of a put to its memory.
TEST(RunLocal, MemoryOutlivesAPeThatFails) {
  for (int round = 0; round < 10; ++round) {
    const Status status = run_local(3, [](Runtime& rt) -> Status {
      constexpr std::size_t kBytes = 1 << 20;
      ASSIGN_OR_RETURN(auto* const memory, rt.callocate<std::byte>(3 * kBytes));
      if (rt.pe() == 0) return Status::error(Code::kIo, "on purpose");
      const std::vector<std::byte> source(kBytes);
      for (int i = 0; i < 20; ++i) {
        std::byte* const mine = memory + static_cast<std::size_t>(rt.pe()) * kBytes;
        RETURN_IF_ERROR(rt.context().put(mine, source.data(), kBytes, 0));
      }
      return rt.barrier();
    });
    EXPECT_CODE(status, Code::kIo);
  }
}

// --- contexts and their runtime ------------------------------------------------------------------

TEST(Runtime, ContextThatOutlivesIt) {
  Options options;
  options.bootstrap = "single";
  std::optional<Context> left;
  std::uint64_t* word = nullptr;
  {
    auto runtime = Runtime::create(options);
    ASSERT_OK(runtime);
    auto memory = runtime->callocate<std::uint64_t>(1);
    ASSERT_OK(memory);
    word = *memory;
    auto context = runtime->create_context();
    ASSERT_OK(context);
    left.emplace(std::move(*context));
    EXPECT_OK(left->p(word, std::uint64_t{1}, 0));
  }
  EXPECT_CODE(left->p(word, std::uint64_t{1}, 0), Code::kInvalidArgument);
  EXPECT_CODE(left->atomic_inc(word, 0), Code::kInvalidArgument);
  EXPECT_CODE(left->quiet(), Code::kInvalidArgument);
  EXPECT_CODE(left->fence(), Code::kInvalidArgument);
  EXPECT_CODE(left->device(), Code::kInvalidArgument);
  EXPECT_CODE(left->device_pointer(), Code::kInvalidArgument);
  EXPECT_EQ(left->ptr(word, 0), nullptr);
}

// --- what PEs must have alike --------------------------------------------------------------------

TEST(Mismatch, IsNamedOnEveryPe) {
  struct Case {
    const char* name;
    const char* value;
    const char* usual;
  };
  for (const Case& one : {Case{"WEFT_HEAP_SIZE", "2097152", "17179869184"},
                          Case{"WEFT_HEAP_CHUNK", "1048576", "268435456"},
                          Case{"WEFT_MAX_TEAMS", "7", "32"}, Case{"WEFT_CHECK", "1", "0"},
                          Case{"WEFT_TRANSPORTS", "loopback,p2p", "p2p,loopback,ib,ofi"},
                          Case{"WEFT_GPU_TRANSPORTS", "p2p,loopback", "p2p,loopback,staged"}}) {
    PeGroup group{Pes::kProcesses, 3, {}, [&](int pe, Options& options) {
                    if (pe == 1) options.set(one.name, one.value).ignore();
                  }};
    for (const PeEnd& end : watch_pes(group, [](Runtime&) { return Status::ok(); })) {
      if (is_pe_process()) continue;
      EXPECT_EQ(end.code, Code::kInvalidArgument) << end.log;
      EXPECT_THAT(end.log, AllOf(HasSubstr(one.name), HasSubstr(one.value), HasSubstr(one.usual),
                                 HasSubstr("PE 1"), HasSubstr("PE 0")));
    }
  }
}

}  // namespace
}  // namespace weft
