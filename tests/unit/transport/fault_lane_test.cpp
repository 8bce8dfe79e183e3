#include "host/transport/fault/lane.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.hpp"
#include "tests/support/recording_transport.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr Lane kLane{4};

// Ops carry a number in `value`, by which a test knows them again.
Op make_op(OpKind kind, std::uint64_t number, std::uint32_t pe = 0) {
  static std::uint64_t source[16], result;
  Op op;
  op.kind = kind;
  op.pe = pe;
  op.value = number;
  op.width = 8;
  op.bytes = is_amo(kind) || kind == OpKind::kFence ? 0 : 24;
  op.local = reinterpret_cast<std::uint64_t>(source);
  op.result = reinterpret_cast<std::uint64_t>(&result);
  return op;
}
Op put(std::uint64_t number, std::uint32_t pe = 0) { return make_op(OpKind::kPut, number, pe); }
Op signal(std::uint64_t number, std::uint32_t pe = 0) {
  Op op = put(number, pe);
  op.notify = NotifyOp::kSet;
  return op;
}
Op fence(std::uint32_t pe = 0) { return make_op(OpKind::kFence, 0, pe); }

struct Job {
  explicit Job(const std::string& text) : lane(inner, kLane, *parse_fault_spec(text), 0) {}

  void post(const Op& op) {
    Status status = lane.post(op);
    ASSERT_TRUE(status.is_ok()) << status.to_string();
  }
  void progress(int calls) {
    for (int i = 0; i < calls; ++i) ASSERT_TRUE(lane.progress().is_ok());
  }
  void quiet(std::uint64_t posted) {
    ASSERT_TRUE(lane.flush().is_ok());
    for (int i = 0; i < 100 && lane.completed() < posted; ++i) progress(1);
    ASSERT_EQ(lane.completed(), posted);
  }
  // Numbers of what the inner transport was given, without fences.
  std::vector<std::uint64_t> delivered() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [at, op] : inner.ops)
      if (op.kind != OpKind::kFence) numbers.push_back(op.value);
    return numbers;
  }
  bool has(std::uint64_t number) const {
    const auto all = delivered();
    return std::find(all.begin(), all.end(), number) != all.end();
  }

  RecordingTransport inner;
  FaultLane lane;
};

TEST(FaultLane, WithoutFaultsItPassesEverythingOnAtOnceAndInOrder) {
  Job job("");
  for (std::uint64_t i = 1; i <= 5; ++i) job.post(i % 2 == 0 ? put(i) : signal(i));
  EXPECT_THAT(job.delivered(), ::testing::ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(job.lane.completed(), 5u);
}

TEST(FaultLane, LateHoldsAPlainPutUntilFlush) {
  Job job("late=1");
  job.post(put(1));
  job.progress(200);
  EXPECT_FALSE(job.has(1));
  EXPECT_EQ(job.lane.completed(), 0u);
  job.quiet(1);
  EXPECT_TRUE(job.has(1));
}

TEST(FaultLane, LateDeliversSignalsAtomicsAndGetsByProgressAlone) {
  Job job("late=1");
  job.post(signal(1));
  job.post(make_op(OpKind::kAmoAdd, 2));
  job.post(make_op(OpKind::kAmoFetchAdd, 3));
  job.post(make_op(OpKind::kGet, 4));
  EXPECT_TRUE(job.delivered().empty());
  job.progress(5);
  EXPECT_THAT(job.delivered(), ::testing::UnorderedElementsAre(1, 2, 3, 4));
}

// The proof that programs without a fence are caught: the signal overtakes the data, for every
// seed; and with a fence it never does.
TEST(FaultLane, LateLetsAnUnfencedSignalOvertakeItsData) {
  for (int seed = 1; seed <= 50; ++seed) {
    Job unfenced("late=1,seed=" + std::to_string(seed));
    unfenced.post(put(1));
    unfenced.post(signal(2));
    unfenced.progress(10);
    EXPECT_THAT(unfenced.delivered(), ::testing::ElementsAre(2));

    Job fenced("late=1,seed=" + std::to_string(seed));
    fenced.post(put(1));
    fenced.post(fence());
    fenced.post(signal(2));
    fenced.progress(10);
    EXPECT_THAT(fenced.delivered(), ::testing::ElementsAre(1, 2));
  }
}

TEST(FaultLane, LateTakesBothOrdersOfUnfencedOps) {
  std::set<std::vector<std::uint64_t>> atomics, puts;
  for (int seed = 1; seed <= 50; ++seed) {
    Job job("late=1,seed=" + std::to_string(seed));
    job.post(make_op(OpKind::kAmoSet, 1));
    job.post(make_op(OpKind::kAmoSet, 2));
    job.progress(10);
    atomics.insert(job.delivered());
    Job other("late=1,seed=" + std::to_string(seed));
    other.post(put(1));
    other.post(put(2));
    other.quiet(2);
    puts.insert(other.delivered());
  }
  EXPECT_EQ(atomics.size(), 2u);
  EXPECT_EQ(puts.size(), 2u);
}

TEST(FaultLane, AFenceOrdersOnlyItsPe) {
  Job job("late=1");
  job.post(put(1, 0));
  job.post(put(2, 1));
  job.post(fence(1));
  job.post(signal(3, 0));
  job.post(signal(4, 1));
  job.progress(10);
  EXPECT_FALSE(job.has(1));
  EXPECT_TRUE(job.has(2));
  EXPECT_THAT(job.delivered(), ::testing::UnorderedElementsAre(2, 3, 4));
}

TEST(FaultLane, AFenceToAllOrdersEveryPe) {
  Job job("late=1");
  job.post(put(1, 0));
  job.post(put(2, 1));
  job.post(fence(kAllPes));
  job.post(signal(3, 0));
  job.post(signal(4, 1));
  job.progress(10);
  const auto order = job.delivered();
  ASSERT_EQ(order.size(), 4u);
  const auto at = [&](std::uint64_t n) { return std::find(order.begin(), order.end(), n); };
  EXPECT_LT(at(1), at(3));
  EXPECT_LT(at(2), at(4));
}

TEST(FaultLane, TheInnerTransportIsFencedTooSinceItMayReorder) {
  Job job("");
  job.post(put(1));
  job.post(fence());
  job.post(put(2));
  ASSERT_EQ(job.inner.ops.size(), 3u);
  EXPECT_EQ(job.inner.ops[1].second.kind, OpKind::kFence);
}

TEST(FaultLane, ABlockingPutIsCopiedAndALaterOneIsRead) {
  for (const bool stays : {false, true}) {
    Job job("late=1");
    alignas(8) std::byte heap[64] = {};
    job.inner.heap = heap;
    std::uint64_t source[3] = {1, 2, 3};
    Op op = put(1);
    op.local = reinterpret_cast<std::uint64_t>(source);
    if (stays) op.flags |= kOpSourceStays;
    job.post(op);
    source[0] = source[1] = source[2] = 9;
    job.quiet(1);
    std::uint64_t target[3];
    std::memcpy(target, heap, sizeof(target));
    EXPECT_EQ(target[0], stays ? 9u : 1u);
    EXPECT_EQ(target[2], stays ? 9u : 3u);
  }
}

TEST(FaultLane, HoldsNoMoreThanItsLimit) {
  Job job("late=1");
  for (std::uint64_t i = 1; i <= 10000; ++i) job.post(put(i));
  EXPECT_GT(job.delivered().size(), 4000u);
}

TEST(FaultLane, DelayLetsOthersOvertakeAndAFencedOpWaits) {
  bool overtaken = false;
  for (int seed = 1; seed <= 50; ++seed) {
    Job job("delay=0.5,seed=" + std::to_string(seed));
    job.post(signal(1));
    job.post(signal(2));
    job.post(fence());
    job.post(signal(3));
    job.progress(40);
    const auto order = job.delivered();
    ASSERT_EQ(order.size(), 3u);
    EXPECT_EQ(order[2], 3u);
    overtaken |= order[0] == 2;
  }
  EXPECT_TRUE(overtaken);
}

TEST(FaultLane, DuplicateMovesBytesTwiceBeforeTheNotify) {
  Job job("duplicate=1");
  job.post(signal(1));
  ASSERT_EQ(job.inner.ops.size(), 2u);
  EXPECT_EQ(job.inner.ops[0].second.notify, NotifyOp::kNone);
  EXPECT_EQ(job.inner.ops[1].second.notify, NotifyOp::kSet);
  job.post(make_op(OpKind::kGet, 2));
  EXPECT_EQ(job.inner.ops.size(), 4u);
  EXPECT_EQ(job.lane.completed(), 2u);
}

TEST(FaultLane, DuplicateLeavesAloneWhatAProgramCouldTell) {
  Job job("duplicate=1");
  std::size_t ops = 0;
  for (const std::uint64_t bytes : {0, 1, 2, 4, 8}) {
    Op op = put(1);
    op.bytes = bytes;
    job.post(op);
    EXPECT_EQ(job.inner.ops.size(), ++ops);
  }
  for (int kind = static_cast<int>(OpKind::kAmoSet); kind <= static_cast<int>(OpKind::kAmoFetchXor);
       ++kind) {
    job.post(make_op(static_cast<OpKind>(kind), 1));
    EXPECT_EQ(job.inner.ops.size(), ++ops);
  }
}

TEST(FaultLane, ADroppedOpNeverCompletesAndNeitherDoesWhatFollows) {
  Job job("drop=1");
  job.post(put(1));
  EXPECT_TRUE(job.lane.flush().is_ok());
  job.progress(100);
  EXPECT_TRUE(job.delivered().empty());
  EXPECT_EQ(job.lane.completed(), 0u);

  Job half("drop=0.5");
  for (std::uint64_t i = 1; i <= 100; ++i) half.post(signal(i));
  half.progress(10);
  EXPECT_GT(half.delivered().size(), 20u);
  EXPECT_LT(half.delivered().size(), 80u);
  EXPECT_LT(half.lane.completed(), half.delivered().size());
}

TEST(FaultLane, BusyTakesNothing) {
  Job job("busy=0.5");
  std::uint64_t posted = 0;
  int refused = 0;
  while (posted < 100) {
    Status status = job.lane.post(put(posted + 1));
    ASSERT_TRUE(status.is_ok() || status.is(Code::kBusy));
    posted += status.is_ok() ? 1 : 0;
    refused += status.is_ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 20);
  EXPECT_EQ(job.delivered().size(), 100u);
  EXPECT_EQ(job.lane.completed(), 100u);
}

TEST(FaultLane, FailAfterFailsEveryLaterPostWithAText) {
  Job job("fail_after=3");
  for (std::uint64_t i = 1; i <= 3; ++i) job.post(put(i));
  for (int i = 0; i < 2; ++i) {
    const Status status = job.lane.post(put(4));
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_THAT(std::string(status.text()), HasSubstr("fail_after=3"));
    EXPECT_THAT(std::string(status.text()), HasSubstr("put of 24 bytes to PE 0"));
  }
  EXPECT_EQ(job.lane.completed(), 3u);
}

TEST(FaultLane, AKilledPeTakesItsOpsWithItAndNobodyElses) {
  Job job("late=1,kill_pe=1,kill_after=2");
  job.post(put(1, 1));
  job.post(put(2, 0));
  job.post(put(3, 1));
  EXPECT_TRUE(job.lane.post(put(4, 1)).is(Code::kPeerLost));
  job.post(put(5, 0));
  ASSERT_TRUE(job.lane.flush().is_ok());
  int lost = 0;
  for (int i = 0; i < 20; ++i) {
    const Status status = job.lane.progress();
    if (status.is_ok()) continue;
    ++lost;
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_THAT(std::string(status.text()), HasSubstr("PE 1 is gone"));
  }
  EXPECT_GE(lost, 1);
  EXPECT_THAT(job.delivered(), ::testing::UnorderedElementsAre(2, 5));
  EXPECT_EQ(job.lane.completed(), 4u);  // the lost ones, too: nobody waits for them for ever
}

TEST(FaultLane, AFailureOfTheInnerTransportComesOnceAndTheOpIsOver) {
  Job job("");
  job.inner.refuse = [](const Op& op) {
    return op.value == 2 ? Status::error(Code::kIo, "inner") : Status::ok();
  };
  for (std::uint64_t i = 1; i <= 3; ++i) job.post(put(i));
  EXPECT_STREQ(job.lane.progress().text(), "inner");
  EXPECT_TRUE(job.lane.progress().is_ok());
  EXPECT_EQ(job.lane.completed(), 3u);
}

TEST(FaultLane, ABusyInnerTransportLosesNothing) {
  Job job("late=1");
  for (std::uint64_t i = 1; i <= 20; ++i) job.post(i % 3 == 0 ? fence() : put(i));
  job.inner.busy_posts = 30;
  job.quiet(20);
  EXPECT_EQ(job.delivered().size(), 14u);
}

TEST(FaultLane, CompletionFollowsTheInnerTransport) {
  Job job("");
  job.inner.complete_at_once = false;
  job.post(put(1));
  job.post(put(2));
  EXPECT_EQ(job.lane.completed(), 0u);
  job.inner.complete(kLane, 1);
  job.progress(1);
  EXPECT_EQ(job.lane.completed(), 1u);
  job.inner.complete(kLane, 1);
  job.progress(1);
  EXPECT_EQ(job.lane.completed(), 2u);
}

TEST(FaultLane, ASeedAlwaysGivesTheSameAndAnotherGivesAnother) {
  const auto run = [](int seed, int pe, Lane lane) {
    RecordingTransport inner;
    FaultLane fault(inner, lane, *parse_fault_spec("late=1,delay=0.3,seed=" + std::to_string(seed)),
                    pe);
    for (std::uint64_t i = 1; i <= 30; ++i) EXPECT_TRUE(fault.post(signal(i)).is_ok());
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(fault.progress().is_ok());
    std::vector<std::uint64_t> order;
    for (const auto& [at, op] : inner.ops) order.push_back(op.value);
    return order;
  };
  EXPECT_EQ(run(1, 0, kLane), run(1, 0, kLane));
  EXPECT_NE(run(1, 0, kLane), run(2, 0, kLane));
  EXPECT_NE(run(1, 0, kLane), run(1, 1, kLane));
  EXPECT_NE(run(1, 0, kLane), run(1, 0, Lane{5}));
}

// --- random programs against the promises ------------------------------------------------------

struct Program {
  std::map<std::uint64_t, std::uint64_t> epoch;  // of an op, counted per PE
  std::map<std::uint32_t, std::uint64_t> epoch_of_pe;
  std::vector<std::uint64_t> numbers;  // by ticket; 0 for fences
};

void random_step(std::mt19937_64& random, Job& job, Program& program) {
  const auto pe = static_cast<std::uint32_t>(random() % 3);
  const std::uint64_t number = program.numbers.size() + 1;
  Op op;
  switch (random() % 8) {
    case 0: op = fence(pe); break;
    case 1: op = fence(kAllPes); break;
    case 2: op = signal(number, pe); break;
    case 3: op = make_op(OpKind::kAmoAdd, number, pe); break;
    case 4: op = make_op(OpKind::kGet, number, pe); break;
    default: op = put(number, pe); break;
  }
  Status status = job.lane.post(op);
  if (status.is(Code::kBusy)) return;
  ASSERT_TRUE(status.is_ok());
  if (op.kind == OpKind::kFence) {
    for (std::uint32_t each = 0; each < 3; ++each)
      if (op.pe == kAllPes || op.pe == each) ++program.epoch_of_pe[each];
    program.numbers.push_back(0);
  } else {
    program.epoch[number] = program.epoch_of_pe[pe];
    program.numbers.push_back(number);
  }
}

// fence: per PE, epochs never go back. quiet: what counts as complete was delivered.
void check_promises(const Job& job, const Program& program) {
  std::map<std::uint32_t, std::uint64_t> reached;
  std::set<std::uint64_t> seen;
  for (const auto& [lane, op] : job.inner.ops) {
    if (op.kind == OpKind::kFence) continue;
    const std::uint64_t epoch = program.epoch.at(op.value);
    ASSERT_GE(epoch, reached[op.pe]) << "op " << op.value << " came after one fenced behind it";
    reached[op.pe] = epoch;
    seen.insert(op.value);
  }
  for (std::uint64_t i = 0; i < job.lane.completed(); ++i)
    ASSERT_TRUE(program.numbers[i] == 0 || seen.contains(program.numbers[i]));
}

void run_random_program(const std::string& faults, std::mt19937_64& random) {
  Job job(faults + ",seed=" + std::to_string(random()));
  Program program;
  const int steps = static_cast<int>(random() % 120);
  for (int i = 0; i < steps; ++i) {
    random_step(random, job, program);
    if (random() % 3 == 0) job.progress(static_cast<int>(random() % 4));
    if (random() % 4 == 0) job.inner.busy_posts = static_cast<int>(random() % 3);
    if (random() % 16 == 0) {
      ASSERT_TRUE(job.lane.flush().is_ok());
    }
    check_promises(job, program);
    if (random() % 32 == 0) job.quiet(program.numbers.size());
  }
  job.quiet(program.numbers.size());
  check_promises(job, program);
  std::set<std::uint64_t> delivered;
  for (const std::uint64_t number : job.delivered()) delivered.insert(number);
  EXPECT_EQ(delivered.size(), program.epoch.size()) << "an op was lost";
  if (faults.find("duplicate") == std::string::npos) {
    EXPECT_EQ(job.delivered().size(), program.epoch.size()) << "an op came twice";
  }
}

TEST(FaultLane, KeepsEveryPromiseToRandomPrograms) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 150; ++round)
    for (const char* faults : {"late=1", "delay=0.4", "late=1,delay=0.3,busy=0.3", "duplicate=0.5",
                               "late=1,duplicate=0.5"})
      run_random_program(faults, random);
}

}  // namespace
}  // namespace weft
