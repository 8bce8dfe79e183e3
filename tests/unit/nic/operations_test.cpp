// The GPU-initiated queue pair against a NIC of software: many threads, tiny queues, and all that
// goes wrong.
#include <weft/dev/nic/operations.hpp>
#include <weft/dev/nic/mlx5.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/run_threads.hpp"
#include "tests/support/random.hpp"
#include "tests/support/soft_nic.hpp"

namespace weft {
namespace {

using dev::nic::Mlx5;
using test::copy_of;
using test::NicJob;
using test::op_of;
using test::SoftNicOptions;
using Word = std::uint64_t;

constexpr unsigned kThreads = 6;  // a warp of four and one of two
constexpr char kWhere[] = "test";

// Runs body(h, thread) on each thread of a block.
template <class Body>
void on_threads(const NicJob& job, Body body) {
  test::run_grids(1, 1, kThreads, [&](int) { body(job.handle, dev::platform::thread_rank()); });
}

bool put(const DeviceContext& h, const Op& op) { return dev::nic::put<Mlx5>(h, kWhere, op); }
bool get(const DeviceContext& h, const Op& op) { return dev::nic::get<Mlx5>(h, kWhere, op, true); }
bool change(const DeviceContext& h, const Op& op) { return dev::nic::change<Mlx5>(h, kWhere, op); }
bool quiet(const DeviceContext& h) { return dev::nic::quiet<Mlx5>(h, kWhere, NicJob::kPeer); }
bool fence(const DeviceContext& h) { return dev::nic::fence<Mlx5>(h, kWhere, NicJob::kPeer); }
Word fetch(const DeviceContext& h, const Op& op) {
  Word word = ~Word{0};
  EXPECT_TRUE(dev::nic::fetch<Mlx5>(h, kWhere, op, &word));
  return word;
}
void expect_no_fault(const NicJob& job) {
  EXPECT_EQ(job.fault.code, 0u);
  EXPECT_EQ(job.nic.mistakes(), 0);
}

struct Shape {
  Word capacity;
  Word first;
  bool reads_doorbell;
};

class NicQueue : public ::testing::TestWithParam<Shape> {
 protected:
  static SoftNicOptions options() {
    SoftNicOptions options;
    options.capacity = GetParam().capacity;
    options.first = GetParam().first;
    options.reads_doorbell = GetParam().reads_doorbell;
    options.result_count = 2;
    options.seed = test_seed();
    return options;
  }
};

// Each thread has words of its own at the peer.
TEST_P(NicQueue, WhatIsPutIsThereAfterQuiet) {
  constexpr std::size_t kLamport = 16, kRounds = 20;
  NicJob job(options());
  on_threads(job, [&](const DeviceContext& h, unsigned me) {
    std::vector<Word> source(kLamport), back(kLamport);
    const std::size_t mine = me * 2 * kLamport;
    for (Word round = 1; round <= kRounds; ++round) {
      std::fill(source.begin(), source.end(), me * 1000 + round);
      ASSERT_TRUE(put(h, copy_of(OpKind::kPut, mine, source.data(), kLamport)));
      std::fill(source.begin(), source.end(), 0);  // it may be reused
      ASSERT_TRUE(change(h, op_of(OpKind::kAmoSet, mine + kLamport, round)));
      Word few[3] = {round, round + 1, round + 2};
      ASSERT_TRUE(put(h, copy_of(OpKind::kPut, mine + kLamport + 1, few, 3)));
      few[0] = 0;
      ASSERT_TRUE(quiet(h));
      const Word* const there = &job.heap[mine];
      ASSERT_EQ(std::count(there, there + kLamport, me * 1000 + round), std::ptrdiff_t{kLamport});
      for (Word i = 0; i < 3; ++i) ASSERT_EQ(there[kLamport + 1 + i], round + i);
      ASSERT_TRUE(get(h, copy_of(OpKind::kGet, mine, back.data(), kLamport)));
      ASSERT_EQ(back[kLamport - 1], me * 1000 + round);
    }
  });
  expect_no_fault(job);
}

TEST_P(NicQueue, AtomicsBringEachItsOwnWord) {
  constexpr Word kEach = 50;
  NicJob job(options());
  std::vector<std::vector<Word>> got(kThreads);
  on_threads(job, [&](const DeviceContext& h, unsigned me) {
    for (Word i = 0; i < kEach; ++i) {
      got[me].push_back(fetch(h, op_of(OpKind::kAmoFetchAdd, 0, 1)));
      ASSERT_TRUE(change(h, op_of(OpKind::kAmoAdd, 1, i)));
      Op swap = op_of(OpKind::kAmoCompareSwap, 2 + me, i + 1);
      swap.compare = i;
      ASSERT_EQ(fetch(h, swap), i);
      ASSERT_EQ(fetch(h, swap), i + 1);  // it is no longer what is compared with
    }
    ASSERT_TRUE(quiet(h));
  });
  std::vector<Word> all;
  for (const auto& some : got) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  for (Word i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  EXPECT_EQ(job.heap[1], kThreads * kEach * (kEach - 1) / 2);
  expect_no_fault(job);
}

// Waiters at the peer see a signal only behind what it is for.
TEST_P(NicQueue, SignalsComeBehindTheirData) {
  constexpr std::size_t kLamport = 8, kLine = kLamport + 2;
  constexpr Word kRounds = 50;
  NicJob job(options());
  on_threads(job, [&](const DeviceContext& h, unsigned me) {
    const unsigned pair = me / 2;
    Word* const line = &job.heap[pair * kLine];
    Word* const signal = line + kLamport;
    Word* const taken = line + kLamport + 1;  // by who waits
    for (Word round = 1; round <= kRounds; ++round) {
      if (me % 2 == 0) {
        std::vector<Word> source(kLamport, round);
        Op op = copy_of(OpKind::kPut, pair * kLine, source.data(), kLamport);
        op.notify = round % 2 == 0 ? NotifyOp::kSet : NotifyOp::kAdd;
        op.value = op.notify == NotifyOp::kSet ? round : 1;
        op.signal = (pair * kLine + kLamport) * sizeof(Word);
        ASSERT_TRUE(put(h, op));
        while (__atomic_load_n(taken, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
      } else {
        while (__atomic_load_n(signal, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
        ASSERT_EQ(std::count(line, line + kLamport, round), std::ptrdiff_t{kLamport});
        __atomic_store_n(taken, round, __ATOMIC_RELEASE);
      }
    }
  });
  expect_no_fault(job);
}

// A put may overtake an atomic; behind a fence it does not.
TEST_P(NicQueue, FenceKeepsPutsBehindAtomics) {
  NicJob job(options());
  on_threads(job, [&](const DeviceContext& h, unsigned me) {
    const std::size_t mine = 2 * me;
    for (Word round = 1; round <= 50; ++round) {
      ASSERT_TRUE(change(h, op_of(OpKind::kAmoAdd, mine, 1)));
      ASSERT_TRUE(fence(h));
      ASSERT_TRUE(change(h, op_of(OpKind::kAmoSet, mine + 1, round)));
      while (__atomic_load_n(&job.heap[mine + 1], __ATOMIC_ACQUIRE) != round)
        std::this_thread::yield();
      ASSERT_EQ(__atomic_load_n(&job.heap[mine], __ATOMIC_RELAXED), round);
    }
  });
  for (unsigned t = 0; t < kThreads; ++t) EXPECT_EQ(job.heap[2 * t + 1], 50u);
  expect_no_fault(job);
}

// The NIC's counters, the records' and the marks' all begin anew.
constexpr Word kBefore16Bits = 0xfffa, kBefore32Bits = 0xfffffff0;
INSTANTIATE_TEST_SUITE_P(Queues, NicQueue,
                         ::testing::Values(Shape{1, 0, true}, Shape{2, 0, false},
                                           Shape{4, kBefore16Bits, true}, Shape{4, 0, false},
                                           Shape{16, kBefore32Bits, false}, Shape{16, 0, true},
                                           Shape{64, kBefore32Bits, true}),
                         [](const auto& info) {
                           return "capacity_" + std::to_string(info.param.capacity) + "_first_" +
                                  std::to_string(info.param.first) +
                                  (info.param.reads_doorbell ? "_by_bell" : "_by_record");
                         });

TEST(NicQueueLaps, RequestsMayBeMoreThanTheNicCounts) {
  constexpr Word kRequests = 70000;
  SoftNicOptions options;
  options.seed = test_seed();
  NicJob job(options);
  on_threads(job, [&](const DeviceContext& h, unsigned me) {
    for (Word i = 0; i < kRequests / kThreads + 1; ++i)
      ASSERT_TRUE(change(h, op_of(OpKind::kAmoSet, me, i)));
    ASSERT_TRUE(quiet(h));
    ASSERT_EQ(job.heap[me], kRequests / kThreads);
  });
  EXPECT_GE(job.queues[NicJob::kPeer].counts->completed, kRequests);
  EXPECT_LE(job.nic.bells(), job.queues[NicJob::kPeer].counts->completed);
  expect_no_fault(job);
}

struct SmallRequests : Mlx5 {
  static constexpr std::uint64_t kMostBytes = 72;
};

TEST(NicQueueSplits, LargePutsAndGetsAreSeveralRequests) {
  NicJob job(SoftNicOptions{});
  std::mt19937_64 random(test_seed());
  std::vector<Word> source(100), back(100);
  for (std::size_t words : {1u, 8u, 9u, 10u, 18u, 97u}) {
    for (Word& word : source) word = random();
    const Op op = copy_of(OpKind::kPut, 7, source.data(), words);
    ASSERT_TRUE(dev::nic::put<SmallRequests>(job.handle, kWhere, op));
    ASSERT_TRUE(dev::nic::get<SmallRequests>(job.handle, kWhere,
                                             copy_of(OpKind::kGet, 7, back.data(), words), true));
    EXPECT_TRUE(
        std::equal(source.begin(), source.begin() + static_cast<long>(words), back.begin()));
  }
  expect_no_fault(job);
}

// --- by hand: a NIC that carries nothing out -----------------------------------------------------

class NicBell : public ::testing::Test {
 protected:
  static SoftNicOptions stopped() {
    SoftNicOptions options;
    options.stops_at = 0;
    return options;
  }
  Word take() {
    Word ticket = ~Word{0};
    EXPECT_TRUE(dev::nic::take_ticket<Mlx5>(queue, &ticket));
    return ticket;
  }
  void write(Word ticket) {
    dev::nic::write<Mlx5>(queue, ticket, op_of(OpKind::kAmoSet, ticket, ticket + 1));
    dev::nic::mark_written(queue, ticket);
  }
  Word rung() {
    dev::nic::ring_for_written<Mlx5>(queue);
    return queue.counts->rung;
  }

  NicJob job{stopped()};
  const QueueView& queue = job.queues[NicJob::kPeer];
};

TEST_F(NicBell, RingsOnceForMany) {
  for (Word i = 0; i < 5; ++i) write(take());
  EXPECT_EQ(*queue.doorbell, 0u);
  EXPECT_EQ(rung(), 5u);
  EXPECT_EQ(*queue.record, Mlx5::record_value(5));
  while (job.nic.bells() == 0) std::this_thread::yield();
  EXPECT_EQ(job.nic.bells(), 1u);
}

TEST_F(NicBell, RingsForNothingBehindAGap) {
  const Word first = take(), second = take();
  write(second);
  EXPECT_EQ(rung(), 0u);
  write(first);
  EXPECT_EQ(rung(), 2u);
}

TEST_F(NicBell, GivesOutNoMoreTicketsThanSlots) {
  for (Word i = 0; i < queue.capacity; ++i) EXPECT_EQ(take(), i);
  Word ticket;
  EXPECT_FALSE(dev::nic::take_ticket<Mlx5>(queue, &ticket));
  for (Word i = 0; i < queue.capacity; ++i) write(i);
  EXPECT_EQ(rung(), queue.capacity);
  job.nic.resume();
  while (!dev::nic::take_ticket<Mlx5>(queue, &ticket)) std::this_thread::yield();
  EXPECT_EQ(ticket, queue.capacity);
}

TEST_F(NicBell, WhoWaitsRingsForWhoHasGivenUp) {
  write(take());  // and goes away
  job.nic.resume();
  EXPECT_TRUE(quiet(job.handle));
  EXPECT_EQ(job.heap[0], 1u);
}

// --- what goes wrong ----------------------------------------------------------------------------

TEST(NicQueueFaults, ANicThatStopsIsReportedAtTheDeadline) {
  SoftNicOptions options;
  options.capacity = 4;
  options.stops_at = 6;
  NicJob job(options);
  job.state.deadline_ns = 1'000'000'000;  // in which the NIC's thread comes to run
  Word posted = 0;
  while (change(job.handle, op_of(OpKind::kAmoSet, posted, posted + 1))) ++posted;
  EXPECT_EQ(posted, 10u);
  FaultRecord fault;
  ASSERT_TRUE(dev::take_fault(job.fault, &fault));
  EXPECT_EQ(fault.code, static_cast<std::uint32_t>(FaultCode::kNicTimeout));
  EXPECT_EQ(fault.pe, NicJob::kPeer);
  EXPECT_EQ(fault.offset, posted * sizeof(Word));
  EXPECT_EQ(fault.seen, 6u);
  EXPECT_EQ(fault.wanted, 10u);
  EXPECT_GE(fault.waited_ns, job.state.deadline_ns);
  EXPECT_STREQ(fault.where, kWhere);
  EXPECT_FALSE(quiet(job.handle));

  job.nic.resume();
  job.state.deadline_ns = 0;
  ASSERT_TRUE(change(job.handle, op_of(OpKind::kAmoSet, posted, 77)));  // no hole is left
  ASSERT_TRUE(quiet(job.handle));
  for (Word i = 0; i < posted; ++i) EXPECT_EQ(job.heap[i], i + 1);
  EXPECT_EQ(job.heap[posted], 77u);
  EXPECT_EQ(job.nic.mistakes(), 0);
}

// Threads that give up wherever they are leave the queue whole.
TEST(NicQueueFaults, WhoGivesUpLeavesNoHole) {
  SoftNicOptions options;
  options.capacity = 4;
  options.result_count = 2;
  options.seed = test_seed();
  NicJob job(options);
  job.state.deadline_ns = 1;
  Word counted = 0;
  on_threads(job, [&](const DeviceContext& h, unsigned me) {
    for (Word i = 0; i < 300; ++i) {
      Word old = 0;
      if (dev::nic::fetch<Mlx5>(h, kWhere, op_of(OpKind::kAmoFetchAdd, 0, 1), &old))
        __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
      (void)change(h, op_of(OpKind::kAmoSet, 1 + me, i));
    }
  });
  job.state.deadline_ns = 0;
  EXPECT_TRUE(quiet(job.handle));
  EXPECT_GE(job.heap[0], counted);
  EXPECT_LE(job.heap[0], 300 * kThreads);
  on_threads(job, [&](const DeviceContext& h, unsigned) {  // no word is lost either
    for (int i = 0; i < 5; ++i) fetch(h, op_of(OpKind::kAmoFetchAdd, 0, 1));
  });
  EXPECT_EQ(job.nic.mistakes(), 0);
}

TEST(NicQueueFaults, AnErrorNamesPeerAndSyndrome) {
  constexpr std::uint8_t kRetriesExceeded = 0x15;
  SoftNicOptions options;
  options.fails_at = 3;
  options.syndrome = kRetriesExceeded;
  NicJob job(options);
  for (Word i = 0; i < 4; ++i) ASSERT_TRUE(change(job.handle, op_of(OpKind::kAmoSet, i, i + 1)));
  EXPECT_FALSE(quiet(job.handle));
  FaultRecord fault;
  ASSERT_TRUE(dev::take_fault(job.fault, &fault));
  EXPECT_EQ(fault.code, static_cast<std::uint32_t>(FaultCode::kNicError));
  EXPECT_EQ(fault.pe, NicJob::kPeer);
  EXPECT_EQ(fault.seen, kRetriesExceeded);
  EXPECT_EQ(job.queues[NicJob::kPeer].counts->completed, 3u);
  for (Word i = 0; i < 3; ++i) EXPECT_EQ(job.heap[i], i + 1);
  EXPECT_EQ(job.heap[3], 0u);
  // From now on at once, whatever is asked.
  Word word, words[16] = {};
  EXPECT_FALSE(change(job.handle, op_of(OpKind::kAmoSet, 0, 9)));
  EXPECT_FALSE(put(job.handle, copy_of(OpKind::kPut, 0, words, 16)));
  EXPECT_FALSE(dev::nic::fetch<Mlx5>(job.handle, kWhere, op_of(OpKind::kAmoFetchAdd, 0, 1), &word));
  EXPECT_FALSE(fence(job.handle));
  EXPECT_FALSE(quiet(job.handle));
  EXPECT_EQ(job.heap[0], 1u);
}

TEST(NicQueueFaults, TheFirstSyndromeIsKept) {
  const auto entry_word = [](Word value) { return dev::nic::mlx5::swapped(value); };
  constexpr Word kFailedAtTwo = 2 << 16 | dev::nic::mlx5::kRequestFailed << 4;
  alignas(64) Word entry[8] = {};
  QueueCounts counts;
  QueueView queue;
  queue.counts = &counts;
  queue.completion = entry;
  entry[6] = entry_word(0x15);
  entry[7] = entry_word(kFailedAtTwo);
  dev::nic::look<Mlx5>(queue);
  entry[6] = entry_word(dev::nic::mlx5::kFlushed);
  dev::nic::look<Mlx5>(queue);
  EXPECT_EQ(counts.failure, kQueueFailed | 0x15);
  EXPECT_EQ(counts.completed, 2u);
}

TEST(NicQueueFaults, AWordThatWasGivenUpIsFreeOnceItsResultHasCome) {
  SoftNicOptions options;
  options.result_count = 1;
  options.stops_at = 0;
  NicJob job(options);
  const QueueView& queue = job.queues[NicJob::kPeer];
  job.state.deadline_ns = 1'000'000;
  Word word;
  const Op op = op_of(OpKind::kAmoFetchAdd, 0, 1);
  EXPECT_FALSE(dev::nic::fetch<Mlx5>(job.handle, kWhere, op, &word));
  dev::nic::ResultSlot result_slot;
  EXPECT_FALSE(dev::nic::take_result_slot(queue, result_slot));
  job.nic.resume();
  job.state.deadline_ns = 0;
  EXPECT_TRUE(quiet(job.handle));
  EXPECT_TRUE(dev::nic::take_result_slot(queue, result_slot));
}

// Entries of flushed requests hide why, not that.
TEST(NicQueueFaults, AllThreadsLearnOfAnErrorThatWasFlushedOver) {
  SoftNicOptions options;
  options.fails_at = 40;
  options.syndrome = 0x13;
  options.flushes = true;
  options.seed = test_seed();
  NicJob job(options);
  on_threads(job, [&](const DeviceContext& h, unsigned me) {
    while (change(h, op_of(OpKind::kAmoAdd, me, 1))) continue;
    EXPECT_FALSE(quiet(h));
  });
  EXPECT_EQ(job.fault.code, static_cast<std::uint32_t>(FaultCode::kNicError));
  EXPECT_TRUE(job.fault.seen == 0x13 || job.fault.seen == dev::nic::mlx5::kFlushed);
  EXPECT_LE(job.queues[NicJob::kPeer].counts->completed, 40u);
}

TEST(NicQueueTakes, WordsOfEightBytes) {
  Op op = op_of(OpKind::kAmoFetchAdd, 0);
  EXPECT_TRUE(dev::nic::takes(op));
  op.width = 4;
  EXPECT_FALSE(dev::nic::takes(op));
  op.kind = OpKind::kAmoSet;
  EXPECT_TRUE(dev::nic::takes(op));
  op.kind = OpKind::kAmoXor;
  EXPECT_FALSE(dev::nic::takes(op));
}

}  // namespace
}  // namespace weft
