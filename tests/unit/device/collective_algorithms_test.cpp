// The collectives' algorithms over plain memory: random teams, sizes, roots and operators, called
// one after the other without barriers, while the network delivers as badly as it may.
#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_reduce.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/collective_script.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/device/memory_job.hpp"

namespace weft {
namespace {

using dev::coll::ElementFold;
using memory_job::Job;
using memory_job::Meeting;
using memory_job::MemoryPort;
using memory_job::OneThread;
using memory_job::Reach;
using memory_job::Threads;
using script::Kind;
using script::Script;
using script::Step;

// One step by the bare algorithms; the scope's leader prepares and checks.
template <class T, class Scope>
class Call {
 public:
  Call(Job& job, MemoryPort& port, const Scope& scope, const Step& step, const Team& team, int pe)
      : port_(port),
        scope_(scope),
        step_(step),
        team_(team),
        data_(step, team, job.buffers(pe), job.buffers(pe) + job.buffer_bytes(),
              job.buffer_bytes()) {}

  void run() {
    const bool leads = scope_.rank() == 0;
    if (leads) data_.prepare();
    scope_.sync();
    EXPECT_TRUE(call()) << data_.what();
    if (leads) {
      EXPECT_EQ(data_.check(), "");
      data_.spoil();
    }
    scope_.sync();
  }

 private:
  bool call() {
    dev::TeamMember<MemoryPort, Scope> m(port_, scope_, team_);
    return m.finish(!m.broken() && call(m));
  }
  template <class Member>
  bool call(Member& m) {
    auto* dst = reinterpret_cast<std::byte*>(data_.dst());
    auto* src = reinterpret_cast<const std::byte*>(data_.src());
    const std::size_t bytes = step_.count * sizeof(T);
    switch (step_.kind) {
      case Kind::kSync:
      case Kind::kBarrier: return m.sync();
      case Kind::kBroadcast: return dev::coll::broadcast(m, dst, src, bytes, step_.root);
      case Kind::kFcollect: return dev::coll::fcollect(m, dst, src, bytes);
      case Kind::kCollect: return dev::coll::collect(m, dst, src, data_.source_count() * sizeof(T));
      case Kind::kAlltoall: return dev::coll::alltoall(m, dst, src, bytes);
      case Kind::kAlltoalls:
        return dev::coll::alltoalls(
            m, dst, src, static_cast<std::size_t>(step_.dst_stride) * sizeof(T),
            static_cast<std::size_t>(step_.src_stride) * sizeof(T), sizeof(T), step_.count);
      default: break;
    }
    return script::with_op<T>(step_.op, [&](auto op) {
      const ElementFold<T, decltype(op)::value> fold;
      switch (step_.kind) {
        case Kind::kReduce: return dev::coll::reduce(m, dst, src, step_.count, fold);
        case Kind::kReduceScatter: return dev::coll::reducescatter(m, dst, src, step_.count, fold);
        default:
          return dev::coll::scan(m, dst, src, step_.count, fold,
                                 step_.kind == Kind::kScanInclusive);
      }
    });
  }

  MemoryPort& port_;
  const Scope& scope_;
  const Step& step_;
  const Team& team_;
  script::StepData<T> data_;
};

template <class Scope>
void play(Job& job, const Script& script, int pe, const Scope& scope, std::uint64_t seed) {
  MemoryPort ports[2] = {{job, pe, 0}, {job, pe, 1}};
  std::mt19937_64 random(seed);  // the same on all threads of a PE
  for (const Step& step : script.steps) {
    const script::Members& members = script.teams[static_cast<unsigned>(step.team)];
    Team team;
    team.id = step.team;
    team.size = static_cast<int>(members.size());
    team.list = members.data();
    team.rank = team.rank_of(pe);
    MemoryPort& port = ports[random() % 2];
    if (random() % 4 == 0)
      for (std::uint64_t i = random() % 200; i > 0; --i) std::this_thread::yield();
    if (!team.is_member()) continue;
    script::with_type(step.type, [&](auto zero) {
      Call<decltype(zero), Scope>(job, port, scope, step, team, pe).run();
    });
    if (::testing::Test::HasFailure()) return;
  }
}

struct Shape {
  int npes;
  int threads;  // of a scope
  Reach reach;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.npes << " PEs x " << shape.threads << " threads, reach "
       << static_cast<int>(shape.reach);
}

class CollectiveAlgorithms : public ::testing::TestWithParam<Shape> {};

TEST_P(CollectiveAlgorithms, RandomSequencesMatchTheReference) {
  const Shape shape = GetParam();
  std::mt19937_64 random(test_seed());
  script::ScriptShape wanted;
  wanted.npes = shape.npes;
  wanted.steps = 120;
  const Script script = script::make_script(wanted, random);
  Job job(shape.npes, script::script_buffer_bytes(wanted), shape.reach, random());

  std::vector<std::unique_ptr<Meeting>> meetings;
  std::vector<std::thread> threads;
  for (int pe = 0; pe < shape.npes; ++pe) {
    meetings.push_back(std::make_unique<Meeting>(shape.threads));
    Meeting& meeting = *meetings.back();
    const std::uint64_t own = random();
    for (int t = 0; t < shape.threads; ++t)
      threads.emplace_back([&, pe, t, own] {
        if (shape.threads == 1)
          play(job, script, pe, OneThread{}, own);
        else
          play(job, script, pe, Threads(meeting, t), own);
      });
  }
  for (auto& thread : threads) thread.join();
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (int npes : {1, 2, 3, 4, 5, 7, 8, 16})
    for (Reach reach : {Reach::kAll, Reach::kNone, Reach::kSome}) {
      all.push_back({npes, 1, reach});
      if (npes <= 5) all.push_back({npes, 3, reach});
    }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Shapes, CollectiveAlgorithms, ::testing::ValuesIn(shapes()));

// Runs `body(pe)` on a thread per PE.
void on_all(int npes, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int pe = 0; pe < npes; ++pe) threads.emplace_back(body, pe);
  for (auto& thread : threads) thread.join();
}

Team world(int npes, int pe) {
  Team team;
  team.id = 0;
  team.size = npes;
  team.rank = pe;
  return team;
}

TEST(CollectiveSync, SendsFewMessagesUpTo64Members) {
  for (int npes : {1, 2, 3, 4, 5, 8, 13, 16, 33, 64}) {
    Job job(npes, 64, Reach::kAll, 1);
    on_all(npes, [&](int pe) {
      MemoryPort port(job, pe, 0);
      const Team team = world(npes, pe);
      for (int round = 1; round <= 10; ++round) {
        dev::TeamMember<MemoryPort, OneThread> m(port, OneThread{}, team);
        EXPECT_TRUE(m.finish(m.sync()));
        EXPECT_EQ(port.signals, round * sync_messages(npes));
      }
    });
  }
}

TEST(CollectiveSync, NobodyLeavesBeforeTheLastHasEntered) {
  const int npes = 7;
  Job job(npes, 64, Reach::kNone, test_seed());
  std::atomic<int> entered{0};
  on_all(npes, [&](int pe) {
    MemoryPort port(job, pe, 0);
    const Team team = world(npes, pe);
    for (int round = 1; round <= 50; ++round) {
      entered.fetch_add(1, std::memory_order_relaxed);
      dev::TeamMember<MemoryPort, OneThread> m(port, OneThread{}, team);
      ASSERT_TRUE(m.finish(m.sync()));
      EXPECT_GE(entered.load(std::memory_order_relaxed), round * npes);
    }
  });
}

// A root never waits for those it sends to; the slots must not be used again under slow members.
TEST(CollectiveBroadcast, ARootThatRunsAheadOverwritesNothing) {
  for (int npes : {2, 5, 12}) {
    Job job(npes, 4096, Reach::kSome, test_seed());
    on_all(npes, [&](int pe) {
      MemoryPort port(job, pe, 0);
      const Team team = world(npes, pe);
      auto* words = reinterpret_cast<std::uint64_t*>(job.buffers(pe));
      for (std::uint64_t round = 1; round <= 100; ++round) {
        const int root = static_cast<int>(round / 20) % npes;
        words[0] = pe == root ? round * 7 : 0;
        words[1] = 0;
        if (pe != root)
          for (int i = 0; i < 3 * pe; ++i) std::this_thread::yield();
        dev::TeamMember<MemoryPort, OneThread> m(port, OneThread{}, team);
        ASSERT_TRUE(
            m.finish(dev::coll::broadcast(m, reinterpret_cast<std::byte*>(words + 1),
                                          reinterpret_cast<const std::byte*>(words), 8, root)));
        ASSERT_EQ(words[1], round * 7);
      }
    });
  }
}

TEST(CollectiveFailure, AMissingMemberFailsTheCallAndTheTeamStaysBroken) {
  for (int threads : {1, 3}) {
    const int npes = 4;
    Job job(npes, 4096, Reach::kAll, 1);
    job.deadline = std::chrono::milliseconds(50);
    on_all(npes - 1, [&](int pe) {  // PE 3 never comes
      const Team team = world(npes, pe);
      Meeting meeting(threads);
      on_all(threads, [&](int t) {
        MemoryPort port(job, pe, 0);
        std::byte* words = job.buffers(pe);
        const ElementFold<std::uint64_t, ReduceOp::kSum> fold;
        dev::TeamMember<MemoryPort, Threads> first(port, Threads(meeting, t), team);
        EXPECT_FALSE(first.broken());
        EXPECT_FALSE(first.finish(dev::coll::reduce(first, words, words, 1, fold)));
        dev::TeamMember<MemoryPort, Threads> second(port, Threads(meeting, t), team);
        EXPECT_TRUE(second.broken());
      });
    });
  }
}

TEST(TeamBlock, PartsDoNotOverlapAndStayInside) {
  for (int npes : {1, 2, 3, 7, 8, 64, 100, 1024}) {
    const TeamBlocks blocks = team_blocks(npes, 32, 0);
    const TeamLayout layout = team_layout(npes, static_cast<std::size_t>(blocks.slot_bytes));
    const auto n = static_cast<std::size_t>(npes);
    EXPECT_GE(layout.sync_word(0, 0), sizeof(TeamHeader));
    const std::size_t last_word =
        layout.sync_words > 0 ? layout.sync_word(1, layout.sync_words - 1) : 0;
    EXPECT_LE(last_word + kCacheLine, layout.list);
    EXPECT_LE(layout.list + n * sizeof(std::int32_t), layout.work);
    EXPECT_EQ(layout.work_buffer(1) + kWorkBytes, layout.slots);
    EXPECT_LE(layout.payload_bytes(), kWorkBytes);
    EXPECT_EQ(layout.slot(0, 0), layout.slots);
    EXPECT_EQ(layout.slot(kGenerations - 1, npes - 1) + layout.slot_bytes, layout.bytes);
    EXPECT_EQ(layout.payload(1, 0) % 16, 0u);
    EXPECT_LE(layout.bytes, kScratchBytes + 2 * kWorkBytes + 8192 + n * 64 * kGenerations);
  }
}

TEST(TeamBlock, SharesCoverEverythingOnce) {
  for (std::size_t bytes : {0ul, 1ul, 63ul, 64ul, 65ul, 1000ul, 4096ul, 100001ul})
    for (int parts : {1, 2, 3, 7, 64}) {
      std::size_t next = 0;
      for (int i = 0; i < parts; ++i) {
        const dev::Share share = dev::share_of(bytes, parts, i);
        EXPECT_EQ(share.offset, next);
        EXPECT_TRUE(share.offset % kCacheLine == 0 || share.bytes == 0);
        next += share.bytes;
      }
      EXPECT_EQ(next, bytes);
    }
}

TEST(BroadcastTree, ReachesEverybodyOnceThroughItsParent) {
  for (int n = 1; n < 70; ++n) {
    std::vector<int> told(static_cast<unsigned>(n), 0);
    for (int v = 0; v < n; ++v)
      for (int reach = dev::coll::tree_reach(v, n); reach > 0; reach /= 2)
        if (v + reach < n) {
          ++told[static_cast<unsigned>(v + reach)];
          EXPECT_EQ(dev::coll::tree_parent(v + reach), v);
        }
    EXPECT_EQ(told[0], 0);
    for (int v = 1; v < n; ++v) EXPECT_EQ(told[static_cast<unsigned>(v)], 1) << v << " of " << n;
  }
}

}  // namespace
}  // namespace weft
