// The collectives' algorithms over plain memory: random teams, sizes, roots and operators, called
// one after the other without barriers, while the network delivers as badly as it may.
#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_packed.hpp>
#include <weft/dev/collective_reduce.hpp>

#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/collective_script.hpp"
#include "tests/support/random.hpp"
#include "tests/unit/device/memory_job.hpp"

namespace weft {
namespace {

using dev::coll::ElementFold;
using memory_job::Job;
using memory_job::MemoryPort;
using memory_job::OneThread;
using memory_job::Reach;
using memory_job::StepBarrier;
using memory_job::Threads;
using script::Kind;
using script::Script;
using script::Step;

// Whether the unit with this flag is there; then *unit is it.
bool load_packed(const std::uint64_t* from, std::uint32_t flag, std::uint64_t* unit) {
  const dev::Pair got = dev::platform::load_pair(from);
  *unit = dev::unit_of(got);
  return dev::has_flag(got, flag);
}

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
    const std::size_t bytes = step_.count * sizeof(T);
    const bool whole = step_.kind == Kind::kBroadcast || step_.kind == Kind::kFcollect ||
                       step_.kind == Kind::kAlltoall || step_.kind == Kind::kReduce ||
                       step_.kind == Kind::kReduceScatter;
    if (whole && port_.layout().packs(bytes)) {
      dev::PackedMember<MemoryPort, Scope> m(port_, scope_, team_);
      return !m.broken() && call_packed(m);
    }
    dev::TeamMember<MemoryPort, Scope> m(port_, scope_, team_);
    return m.finish(!m.broken() && call(m));
  }
  template <class Member>
  bool call_packed(Member& m) {
    auto* dst = reinterpret_cast<std::byte*>(data_.dst());
    auto* src = reinterpret_cast<const std::byte*>(data_.src());
    const std::size_t bytes = step_.count * sizeof(T);
    switch (step_.kind) {
      case Kind::kBroadcast: return dev::coll::broadcast_packed(m, {dst, src, bytes}, step_.root);
      case Kind::kFcollect: return dev::coll::fcollect_packed(m, {dst, src, bytes});
      case Kind::kAlltoall: return dev::coll::alltoall_packed(m, {dst, src, bytes});
      default: break;
    }
    const bool all = step_.kind == Kind::kReduce;
    const dev::Folding what = all ? dev::Folding::kReduce : dev::Folding::kReduceScatter;
    return script::with_op<T>(step_.op, [&](auto op) {
      const ElementFold<T, decltype(op)::value> fold;
      return dev::coll::fold_packed(m, what, {dst, src, bytes}, fold);
    });
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
            m, {dst, src, static_cast<std::size_t>(step_.dst_stride) * sizeof(T),
                static_cast<std::size_t>(step_.src_stride) * sizeof(T), sizeof(T), step_.count});
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
  std::set<int> told;            // teams
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
    if (told.insert(team.id).second && scope.rank() == 0) job.tell_hosts(team, pe);
    scope.sync();
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
  std::size_t packed_bytes = 0;
  int hosts = 0;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.npes << " PEs x " << shape.threads << " threads, reach "
       << static_cast<int>(shape.reach) << ", packs " << shape.packed_bytes << " bytes, hosts "
       << shape.hosts;
}

class CollectiveAlgorithms : public ::testing::TestWithParam<Shape> {};

TEST_P(CollectiveAlgorithms, RandomSequencesMatchTheReference) {
  const Shape shape = GetParam();
  std::mt19937_64 random(test_seed());
  script::ScriptShape wanted;
  wanted.npes = shape.npes;
  wanted.steps = 120;
  const Script script = script::make_script(wanted, random);
  Job job(shape.npes, script::script_buffer_bytes(wanted), shape.reach, random(),
          shape.packed_bytes);
  if (shape.hosts != 0) job.place(shape.hosts, random());

  std::vector<std::unique_ptr<StepBarrier>> meetings;
  std::vector<std::thread> threads;
  for (int pe = 0; pe < shape.npes; ++pe) {
    meetings.push_back(std::make_unique<StepBarrier>(shape.threads));
    StepBarrier& barrier = *meetings.back();
    const std::uint64_t own = random();
    for (int t = 0; t < shape.threads; ++t)
      threads.emplace_back([&, pe, t, own] {
        if (shape.threads == 1)
          play(job, script, pe, OneThread{}, own);
        else
          play(job, script, pe, Threads(barrier, t), own);
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
  for (int npes : {1, 2, 3, 5, 9, 16}) {
    all.push_back({npes, 1, Reach::kAll, 320});
    if (npes <= 5) all.push_back({npes, 3, Reach::kAll, 320});
  }
  for (auto [npes, hosts] : {std::pair{2, 2}, {4, 2}, {5, 2}, {5, 3}, {9, 2}, {12, 4}, {16, 12}}) {
    all.push_back({npes, 1, Reach::kHost, 0, hosts});
    if (npes <= 5) all.push_back({npes, 3, Reach::kHost, 0, hosts});
  }
  return all;
}
std::string name_of(const ::testing::TestParamInfo<Shape>& info) {
  const Shape& shape = info.param;
  return "pes_" + std::to_string(shape.npes) + "_threads_" + std::to_string(shape.threads) +
         "_reach_" + std::to_string(static_cast<int>(shape.reach)) + "_packs_" +
         std::to_string(shape.packed_bytes) +
         (shape.hosts != 0 ? "_hosts_" + std::to_string(shape.hosts) : "");
}
INSTANTIATE_TEST_SUITE_P(Shapes, CollectiveAlgorithms, ::testing::ValuesIn(shapes()), name_of);

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
  for (const int npes : {1, 2, 3, 4, 5, 8, 13, 16, 33, 64}) {
    for (const std::size_t packed_bytes : {0, 64}) {  // where they pack, few members count words up
      Job job(npes, 64, Reach::kAll, 1, packed_bytes);
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
}

TEST(CollectiveSync, NobodyLeavesBeforeTheLastHasEntered) {
  struct Way {
    Reach reach;
    std::size_t packed_bytes;
    int hosts;
  };
  for (const auto& [reach, packed_bytes, hosts] :
       {Way{Reach::kNone, 0, 0}, Way{Reach::kAll, 64, 0}, Way{Reach::kHost, 0, 3}}) {
    const int npes = 7;
    Job job(npes, 64, reach, test_seed(), packed_bytes);
    if (hosts != 0) job.place(hosts, test_seed());
    std::atomic<int> entered{0};
    on_all(npes, [&](int pe) {
      MemoryPort port(job, pe, 0);
      const Team team = world(npes, pe);
      job.tell_hosts(team, pe);
      const OneThread alone;
      for (int round = 1; round <= 50; ++round) {
        entered.fetch_add(1, std::memory_order_relaxed);
        dev::TeamMember<MemoryPort, OneThread> m(port, alone, team);
        ASSERT_TRUE(m.finish(m.sync()));
        EXPECT_GE(entered.load(std::memory_order_relaxed), round * npes);
      }
    });
  }
}

// Three hosts of three members, in turn: how many messages leave their host.
TEST(CollectiveHosts, WhatAllAreToHaveCrossesToAHostOnce) {
  constexpr int kHosts = 3, kEach = 3, kPes = kHosts * kEach, kRoot = 4;
  constexpr int kOthers = kHosts - 1;
  const std::size_t large = 3 * team_slot_bytes(kPes);
  Job job(kPes, large * (kPes + 1), Reach::kHost, test_seed());
  for (int pe = 0; pe < kPes; ++pe) job.host_of.push_back(pe % kHosts);
  std::atomic<int> crossed{0};
  std::barrier<> idle(kPes);
  std::vector<int> counted;
  using Member = dev::TeamMember<MemoryPort, OneThread>;
  on_all(kPes, [&](int pe) {
    MemoryPort port(job, pe, 0);
    const Team team = world(kPes, pe);
    job.tell_hosts(team, pe);
    auto* const src = job.buffers(pe);
    auto* const dst = src + large;
    const ElementFold<std::uint64_t, ReduceOp::kSum> sum;
    const auto count = [&](auto call) {
      const int before = port.crossings;
      Member m(port, OneThread{}, team);
      EXPECT_TRUE(m.finish(call(m)));
      crossed += port.crossings - before;
      idle.arrive_and_wait();
      if (pe == 0) counted.push_back(crossed.exchange(0));
      idle.arrive_and_wait();
    };
    count([](Member& m) { return m.sync(); });
    count([&](Member& m) { return dev::coll::broadcast(m, dst, src, 8, kRoot); });
    count([&](Member& m) { return dev::coll::fcollect(m, dst, src, 8); });
    count([&](Member& m) { return dev::coll::reduce(m, dst, src, 1, sum); });
    count([](Member& m) { return m.sync(); });  // so that the next need not, but for themselves
    count([&](Member& m) { return dev::coll::broadcast(m, dst, src, large, kRoot); });
    count([&](Member& m) { return dev::coll::fcollect(m, dst, src, large); });
  });
  const int each = kPes * kOthers;  // a message of everybody's to each other host
  EXPECT_EQ(counted, (std::vector<int>{each, kOthers, each, each, each, each + kOthers * kEach,
                                       each + each}));
}

// A root never waits for those it sends to; the slots must not be used again under slow members.
TEST(CollectiveBroadcast, ARootThatRunsAheadOverwritesNothing) {
  for (int npes : {2, 5, 12, -2, -5, -12}) {  // negative: packed
    const bool packs = npes < 0;
    npes = std::abs(npes);
    Job job(npes, 4096, packs ? Reach::kAll : Reach::kSome, test_seed(), packs ? 64 : 0);
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
        auto* const dst = reinterpret_cast<std::byte*>(words + 1);
        const auto* const src = reinterpret_cast<const std::byte*>(words);
        if (packs) {
          const OneThread alone;
          dev::PackedMember<MemoryPort, OneThread> m(port, alone, team);
          ASSERT_TRUE(dev::coll::broadcast_packed(m, {dst, src, 8}, root));
        } else {
          dev::TeamMember<MemoryPort, OneThread> m(port, OneThread{}, team);
          ASSERT_TRUE(m.finish(dev::coll::broadcast(m, dst, src, 8, root)));
        }
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
      StepBarrier barrier(threads);
      on_all(threads, [&](int t) {
        MemoryPort port(job, pe, 0);
        std::byte* words = job.buffers(pe);
        const ElementFold<std::uint64_t, ReduceOp::kSum> fold;
        dev::TeamMember<MemoryPort, Threads> first(port, Threads(barrier, t), team);
        EXPECT_FALSE(first.broken());
        EXPECT_FALSE(first.finish(dev::coll::reduce(first, words, words, 1, fold)));
        dev::TeamMember<MemoryPort, Threads> second(port, Threads(barrier, t), team);
        EXPECT_TRUE(second.broken());
      });
    });
  }
}

// Long ago everybody sent messages with the flags that are to come.
TEST(CollectivePacked, FlagsThatBeginAnewMeetNoneOfBefore) {
  constexpr int kPes = 3, kRounds = kGenerations;
  constexpr std::size_t kLamport = 8;
  Job job(kPes, 4096, Reach::kAll, 1, 64);
  std::barrier<> idle(kPes);
  on_all(kPes, [&](int pe) {
    MemoryPort port(job, pe, 0);
    const Team team = world(kPes, pe);
    auto* words = reinterpret_cast<std::uint64_t*>(job.buffers(pe));
    auto* const header = reinterpret_cast<TeamHeader*>(job.heap(pe));
    const ElementFold<std::uint64_t, ReduceOp::kSum> sum;
    for (std::uint64_t period = 1; period <= 2; ++period) {
      header->packed = header->packed_synced = period * kPackedPeriod - 1;
      idle.arrive_and_wait();
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t mine = 1000 * period + round;
        std::fill_n(words, kLamport, mine);
        if (pe == 0)
          for (int i = 0; i < 100; ++i) std::this_thread::yield();
        auto* bytes = reinterpret_cast<std::byte*>(words);
        const OneThread alone;
        dev::PackedMember<MemoryPort, OneThread> m(port, alone, team);
        ASSERT_TRUE(
            dev::coll::fold_packed(m, dev::Folding::kReduce, {bytes, bytes, 8 * kLamport}, sum));
        for (std::size_t i = 0; i < kLamport; ++i) ASSERT_EQ(words[i], kPes * mine);
      }
      idle.arrive_and_wait();
    }
  });
}

TEST(CollectivePacked, AMissingMemberIsNamed) {
  const int npes = 6, missing = 4;
  Job job(npes, 4096, Reach::kAll, 1, 64);
  job.deadline = std::chrono::milliseconds(50);
  on_all(npes, [&](int pe) {
    if (pe == missing) return;
    MemoryPort port(job, pe, 0);
    const Team team = world(npes, pe);
    std::byte* words = job.buffers(pe);
    const ElementFold<std::uint32_t, ReduceOp::kMax> fold;
    const OneThread alone;
    dev::PackedMember<MemoryPort, OneThread> first(port, alone, team);
    EXPECT_FALSE(dev::coll::fold_packed(first, dev::Folding::kReduce, {words, words, 12}, fold));
    EXPECT_EQ(port.missed, missing);
    dev::PackedMember<MemoryPort, OneThread> second(port, alone, team);
    EXPECT_TRUE(second.broken());
  });
}

TEST(PackedUnits, KeepBytesOfEverySizeAndAlignment) {
  std::mt19937_64 random(test_seed());
  for (std::size_t bytes = 1; bytes <= 40; ++bytes)
    for (std::size_t from = 0; from < 8; ++from)
      for (std::size_t to = 0; to < 8; ++to) {
        alignas(8) std::byte src[48], dst[48], before[48];
        for (std::size_t i = 0; i < sizeof(src); ++i) {
          src[i] = static_cast<std::byte>(random());
          dst[i] = before[i] = static_cast<std::byte>(random());
        }
        for (std::size_t unit = 0; unit < dev::packed_units(bytes); ++unit) {
          alignas(16) std::uint64_t words[2] = {};
          std::uint64_t data = 0;
          dev::store_packed(words, dev::load_unit(src + from, bytes, unit), 77);
          EXPECT_FALSE(load_packed(words, 76, &data));
          ASSERT_TRUE(load_packed(words, 77, &data));
          dev::store_unit(dst + to, bytes, unit, data);
        }
        ASSERT_EQ(std::memcmp(dst + to, src + from, bytes), 0);
        ASSERT_EQ(std::memcmp(dst, before, to), 0);
        ASSERT_EQ(std::memcmp(dst + to + bytes, before + to + bytes, sizeof(dst) - to - bytes), 0);
      }
}

// One word of two has come: the unit has not.
TEST(PackedUnits, AreThereWhenBothWordsAre) {
  alignas(16) std::uint64_t words[2] = {};
  std::uint64_t data = 0;
  dev::store_packed(words, 0x1122334455667788, 9);
  for (int half : {0, 1}) {
    alignas(16) std::uint64_t some[2] = {words[0], words[1]};
    some[half] = 0;
    EXPECT_FALSE(load_packed(some, 9, &data));
  }
  EXPECT_TRUE(load_packed(words, 9, &data));
  EXPECT_EQ(data, 0x1122334455667788u);
}

TEST(TeamBlock, PartsDoNotOverlapAndStayInside) {
  for (int npes : {1, 2, 3, 7, 8, 64, 100, 1024}) {
    const TeamBlocks blocks = team_blocks(npes, 32, 0, team_packed_bytes(npes));
    const TeamLayout layout = team_layout(blocks, npes);
    const auto n = static_cast<std::size_t>(npes);
    EXPECT_GE(layout.sync_word(0, 0), sizeof(TeamHeader));
    const std::size_t last_word =
        layout.sync_words > 0 ? layout.sync_word(1, layout.sync_words - 1) : 0;
    EXPECT_LE(last_word + kCacheLine, layout.list);
    EXPECT_LE(layout.list + n * sizeof(std::int32_t), layout.hosts);
    EXPECT_LE(layout.hosts + team_hosts_words(n) * sizeof(std::int32_t), layout.work);
    EXPECT_EQ(layout.work_buffer(1) + kWorkBytes, layout.slots);
    EXPECT_LE(layout.payload_bytes(), kWorkBytes);
    EXPECT_EQ(layout.slot(0, 0), layout.slots);
    EXPECT_EQ(layout.slot(kGenerations - 1, npes - 1) + layout.slot_bytes, layout.packed_begin());
    EXPECT_EQ(layout.packed(kGenerations, 0), layout.packed_begin());
    EXPECT_EQ(layout.packed_begin() % 16, 0u);
    EXPECT_EQ(layout.packed(kGenerations - 1, npes - 1) + 2 * layout.packed_bytes,
              layout.packed_end());
    EXPECT_EQ(layout.packed_end(), layout.bytes);
    EXPECT_EQ(team_blocks(npes, 32, 0).stride, layout.packed_begin());
    EXPECT_EQ(layout.payload(1, 0) % 16, 0u);
    EXPECT_LE(layout.bytes, kScratchBytes + kPackedScratchBytes + 2 * kWorkBytes + 8192 +
                                3 * n * 64 * kGenerations);
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
