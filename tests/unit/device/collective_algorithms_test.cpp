// The collectives' algorithms over plain memory: random teams, sizes, roots and operators, called
// one after the other without barriers, while the network delivers as badly as it may.
#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_reduce.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/device/memory_job.hpp"

namespace weft {
namespace {

using dev::coll::ElementFold;
using test::Job;
using test::Meeting;
using test::MemoryPort;
using test::OneThread;
using test::Reach;
using test::Threads;

constexpr std::size_t kBuffer = 256 * 1024;  // src; dst lies behind it

enum class Kind {
  kSync,
  kBroadcast,
  kFcollect,
  kCollect,
  kAlltoall,
  kAlltoalls,
  kReduce,
  kReduceScatter,
  kScanInclusive,
  kScanExclusive,
  kKinds
};
enum class Type { kInt8, kUint16, kInt32, kDouble, kTypes };

struct Step {
  int team = 0;
  Kind kind = Kind::kSync;
  Type type = Type::kInt32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 0;
  int root = 0;
  bool in_place = false;
  std::size_t dst_stride = 1, src_stride = 1;
  std::uint64_t seed = 0;
  std::vector<std::size_t> counts;  // kCollect: per rank
};

// Members in rank order.
using Members = std::vector<int>;

template <class T>
T element(std::uint64_t seed, int rank, std::size_t index) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(rank) + 1) +
                    0xbf58476d1ce4e5b9u * (index + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(static_cast<double>(static_cast<std::int64_t>(x)) * 1e-15);
  else
    return static_cast<T>(x);
}

template <class T>
T apply(ReduceOp op, T a, T b) {
  using U = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  switch (op) {
    case ReduceOp::kSum: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case ReduceOp::kProd: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case ReduceOp::kMin: return std::min(a, b);
    case ReduceOp::kMax: return std::max(a, b);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::kAnd) return static_cast<T>(a & b);
    if (op == ReduceOp::kOr) return static_cast<T>(a | b);
    return static_cast<T>(a ^ b);
  }
  return a;
}

template <class T>
T neutral(ReduceOp op) {
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case ReduceOp::kProd: return 1;
    case ReduceOp::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case ReduceOp::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReduceOp::kAnd: return static_cast<T>(-1);
    default: return 0;
  }
}

// What one PE (one thread of it) does with one step; the leader prepares and checks.
template <class T, class Scope>
class Call {
 public:
  Call(Job& job, MemoryPort& port, const Scope& scope, const Step& step, const Team& team, int pe)
      : port_(port), scope_(scope), step_(step), team_(team) {
    src_ = reinterpret_cast<T*>(job.buffers(pe));
    dst_ = reinterpret_cast<T*>(job.buffers(pe) + kBuffer);
    const bool computes = step.kind >= Kind::kReduce;
    if (step.in_place && computes) dst_ = src_;
  }

  void run() {
    const bool leads = scope_.rank() == 0;
    if (leads) prepare();
    scope_.sync();
    ASSERT_TRUE(call());
    if (leads) check();
    if (leads) std::memset(static_cast<void*>(src_), 0x5a, kBuffer);  // src may be reused
    scope_.sync();
  }

 private:
  std::size_t source_count() const {
    const auto n = static_cast<std::size_t>(team_.size);
    switch (step_.kind) {
      case Kind::kCollect: return step_.counts[static_cast<unsigned>(team_.rank)];
      case Kind::kAlltoall:
      case Kind::kReduceScatter: return n * step_.count;
      case Kind::kAlltoalls: return n * step_.count * step_.src_stride;
      default: return step_.count;
    }
  }
  T at(int rank, std::size_t index) const { return element<T>(step_.seed, rank, index); }

  void prepare() {
    std::memset(static_cast<void*>(dst_), 0xa5, kBuffer);
    for (std::size_t i = 0; i < source_count(); ++i) src_[i] = at(team_.rank, i);
  }

  template <ReduceOp kOp, class Member>
  bool compute(Member& m, std::byte* dst, const std::byte* src) {
    if constexpr (is_bitwise_type<T> ||
                  (kOp != ReduceOp::kAnd && kOp != ReduceOp::kOr && kOp != ReduceOp::kXor)) {
      const ElementFold<T, kOp> fold;
      switch (step_.kind) {
        case Kind::kReduce: return dev::coll::reduce(m, dst, src, step_.count, fold);
        case Kind::kReduceScatter: return dev::coll::reducescatter(m, dst, src, step_.count, fold);
        default:
          return dev::coll::scan(m, dst, src, step_.count, fold,
                                 step_.kind == Kind::kScanInclusive);
      }
    }
    return false;
  }

  bool call() {
    dev::TeamMember<MemoryPort, Scope> m(port_, scope_, team_);
    auto* dst = reinterpret_cast<std::byte*>(dst_);
    auto* src = reinterpret_cast<const std::byte*>(src_);
    const std::size_t bytes = step_.count * sizeof(T);
    bool ok = !m.broken();
    switch (step_.kind) {
      case Kind::kSync: ok = ok && m.sync(); break;
      case Kind::kBroadcast: ok = ok && dev::coll::broadcast(m, dst, src, bytes, step_.root); break;
      case Kind::kFcollect: ok = ok && dev::coll::fcollect(m, dst, src, bytes); break;
      case Kind::kCollect:
        ok = ok && dev::coll::collect(m, dst, src, source_count() * sizeof(T));
        break;
      case Kind::kAlltoall: ok = ok && dev::coll::alltoall(m, dst, src, bytes); break;
      case Kind::kAlltoalls:
        ok = ok && dev::coll::alltoalls(m, dst, src, step_.dst_stride * sizeof(T),
                                        step_.src_stride * sizeof(T), sizeof(T), step_.count);
        break;
      default: ok = ok && computed(m, dst, src); break;
    }
    return m.finish(ok);
  }
  template <class Member>
  bool computed(Member& m, std::byte* dst, const std::byte* src) {
    switch (step_.op) {
      case ReduceOp::kSum: return compute<ReduceOp::kSum>(m, dst, src);
      case ReduceOp::kProd: return compute<ReduceOp::kProd>(m, dst, src);
      case ReduceOp::kMin: return compute<ReduceOp::kMin>(m, dst, src);
      case ReduceOp::kMax: return compute<ReduceOp::kMax>(m, dst, src);
      case ReduceOp::kAnd: return compute<ReduceOp::kAnd>(m, dst, src);
      case ReduceOp::kOr: return compute<ReduceOp::kOr>(m, dst, src);
      case ReduceOp::kXor: return compute<ReduceOp::kXor>(m, dst, src);
    }
    return false;
  }

  // Ranks 0 .. last in rank order, of element `index`.
  T folded(int last, std::size_t index) const {
    T sum = at(0, index);
    for (int rank = 1; rank <= last; ++rank) sum = apply(step_.op, sum, at(rank, index));
    return sum;
  }

  void check() const {
    const std::size_t count = step_.count;
    std::size_t filled = count;
    const int n = team_.size;
    const auto size = static_cast<std::size_t>(n);
    const auto me = static_cast<std::size_t>(team_.rank);
    switch (step_.kind) {
      case Kind::kSync: filled = 0; break;
      case Kind::kBroadcast:
        for (std::size_t i = 0; i < count; ++i) expect(i, at(step_.root, i));
        break;
      case Kind::kFcollect:
        filled = size * count;
        for (std::size_t i = 0; i < filled; ++i)
          expect(i, at(static_cast<int>(i / count), i % count));
        break;
      case Kind::kCollect:
        filled = 0;
        for (int rank = 0; rank < n; ++rank)
          for (std::size_t i = 0; i < step_.counts[static_cast<unsigned>(rank)]; ++i)
            expect(filled++, at(rank, i));
        break;
      case Kind::kAlltoall:
        filled = size * count;
        for (std::size_t i = 0; i < filled; ++i)
          expect(i, at(static_cast<int>(i / count), me * count + i % count));
        break;
      case Kind::kAlltoalls:
        filled = size * count * step_.dst_stride;
        for (std::size_t i = 0; i < size * count; ++i)
          expect(i * step_.dst_stride,
                 at(static_cast<int>(i / count), (me * count + i % count) * step_.src_stride));
        break;
      case Kind::kReduceScatter:
        for (std::size_t i = 0; i < count; ++i) expect(i, folded(n - 1, me * count + i));
        if (dst_ == src_) return;  // behind it lies what was there
        break;
      case Kind::kScanExclusive:
        for (std::size_t i = 0; i < count; ++i)
          expect(i, me == 0 ? neutral<T>(step_.op) : folded(team_.rank - 1, i));
        break;
      case Kind::kScanInclusive:
        for (std::size_t i = 0; i < count; ++i) expect(i, folded(team_.rank, i));
        break;
      default:
        for (std::size_t i = 0; i < count; ++i) expect(i, folded(n - 1, i));
        break;
    }
    const auto* rest = reinterpret_cast<const unsigned char*>(dst_ + filled);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(rest[i], 0xa5) << what() << " wrote past its end, " << i;
  }
  void expect(std::size_t index, T wanted) const {
    if (std::memcmp(&dst_[index], &wanted, sizeof(T)) == 0) return;
    ADD_FAILURE() << what() << " dst[" << index << "] is " << +dst_[index] << ", not " << +wanted;
  }
  std::string what() const {
    return "kind " + std::to_string(static_cast<int>(step_.kind)) + " op " +
           std::to_string(static_cast<int>(step_.op)) + " type " +
           std::to_string(static_cast<int>(step_.type)) + " count " + std::to_string(step_.count) +
           " root " + std::to_string(step_.root) + " in place " + std::to_string(step_.in_place) +
           " rank " + std::to_string(team_.rank) + " of " + std::to_string(team_.size);
  }

  MemoryPort& port_;
  const Scope& scope_;
  const Step& step_;
  const Team& team_;
  T* src_;
  T* dst_;
};

struct Script {
  std::vector<Members> teams;
  std::vector<Step> steps;
};

// Sizes around every switch: nothing, one, odd, a message per thread, a slot, several shares.
std::size_t random_bytes(std::mt19937_64& random, std::size_t slot) {
  const std::size_t anchors[] = {0, 8, 64, 128, slot - kSlotHeader, slot, 2 * slot, 8192};
  const std::size_t anchor = anchors[random() % std::size(anchors)];
  const std::size_t jitter = random() % 24;
  return random() % 2 == 0 || anchor < jitter ? anchor + jitter : anchor - jitter;
}

Script make_script(int npes, std::size_t steps, std::mt19937_64& random) {
  Script script;
  Members all;
  for (int pe = 0; pe < npes; ++pe) all.push_back(pe);
  script.teams.push_back(all);
  for (int i = 1; i < 5; ++i) {
    Members some = all;
    std::shuffle(some.begin(), some.end(), random);
    some.resize(1 + random() % some.size());
    script.teams.push_back(some);
  }
  for (std::size_t i = 0; i < steps; ++i) {
    Step step;
    step.team = random() % 2 == 0 ? 0 : static_cast<int>(random() % script.teams.size());
    step.kind = static_cast<Kind>(random() % static_cast<unsigned>(Kind::kKinds));
    step.type = static_cast<Type>(random() % static_cast<unsigned>(Type::kTypes));
    step.op = static_cast<ReduceOp>(random() % (step.type == Type::kDouble ? 4 : 7));
    step.in_place = random() % 2 == 0;
    step.dst_stride = 1 + random() % 3;
    step.src_stride = 1 + random() % 3;
    step.seed = random();
    const std::size_t size = script.teams[static_cast<unsigned>(step.team)].size();
    step.root = static_cast<int>(random() % size);
    const std::size_t slot = team_slot_bytes(npes);
    step.count = random_bytes(random, slot) / 8;
    if (random() % 4 == 0) step.count = random() % 7;
    for (std::size_t r = 0; r < size; ++r)
      step.counts.push_back(random() % 3 == 0 ? 0 : random_bytes(random, slot) / 8);
    script.steps.push_back(step);
  }
  return script;
}

template <class Scope>
void play(Job& job, const Script& script, int pe, const Scope& scope, std::uint64_t seed) {
  MemoryPort ports[2] = {{job, pe, 0}, {job, pe, 1}};
  std::mt19937_64 random(seed);  // the same on all threads of a PE
  for (const Step& step : script.steps) {
    const Members& members = script.teams[static_cast<unsigned>(step.team)];
    Team team;
    team.id = step.team;
    team.size = static_cast<int>(members.size());
    team.list = members.data();
    team.rank = team.rank_of(pe);
    MemoryPort& port = ports[random() % 2];
    if (random() % 4 == 0)
      for (std::uint64_t i = random() % 200; i > 0; --i) std::this_thread::yield();
    if (!team.is_member()) continue;
    switch (step.type) {
      case Type::kInt8: Call<std::int8_t, Scope>(job, port, scope, step, team, pe).run(); break;
      case Type::kUint16: Call<std::uint16_t, Scope>(job, port, scope, step, team, pe).run(); break;
      case Type::kInt32: Call<std::int32_t, Scope>(job, port, scope, step, team, pe).run(); break;
      default: Call<double, Scope>(job, port, scope, step, team, pe).run(); break;
    }
    if (::testing::Test::HasFatalFailure()) return;
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
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Script script = make_script(shape.npes, 120, random);
  Job job(shape.npes, 2 * kBuffer, shape.reach, random());

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

TEST(CollectiveSync, SendsLogManyMessagesUpTo64Members) {
  for (int npes : {1, 2, 3, 4, 5, 8, 13, 16, 33, 64}) {
    Job job(npes, 64, Reach::kAll, 1);
    on_all(npes, [&](int pe) {
      MemoryPort port(job, pe, 0);
      const Team team = world(npes, pe);
      for (int round = 1; round <= 10; ++round) {
        dev::TeamMember<MemoryPort, OneThread> m(port, OneThread{}, team);
        EXPECT_TRUE(m.finish(m.sync()));
        EXPECT_EQ(port.signals, round * sync_rounds(npes));
      }
    });
  }
}

TEST(CollectiveSync, NobodyLeavesBeforeTheLastHasEntered) {
  const int npes = 7;
  Job job(npes, 64, Reach::kNone, std::random_device{}());
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
    Job job(npes, 4096, Reach::kSome, std::random_device{}());
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
    const std::size_t last_word = layout.rounds > 0 ? layout.sync_word(1, layout.rounds - 1) : 0;
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
