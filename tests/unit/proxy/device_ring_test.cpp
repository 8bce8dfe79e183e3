#include "host/proxy/device_ring.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random.hpp"
#include "tests/support/recording_transport.hpp"
#include "tests/unit/proxy/kernel_end.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr Lane kLane = Lane{7};  // the device lane of context 3
constexpr std::uint64_t kSecond = 1'000'000'000;

class DeviceRingTest : public ::testing::Test {
 protected:
  void make(std::uint64_t capacity = 8, int batch = 4, std::uint64_t deadline_ns = 0) {
    auto made =
        DeviceRing::create(cpu_platform(), recording.routes, kLane, {capacity, batch, deadline_ns});
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    ring = std::move(*made);
    view = ring->view();
  }
  bool step(std::uint64_t now_ns = 1) { return ring->step(now_ns, failure); }
  std::vector<std::uint64_t> posted() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [lane, op] : transport.ops) numbers.push_back(op.value);
    return numbers;
  }

  RecordingRoutes recording{4};
  RecordingTransport& transport = *recording.transport;
  std::unique_ptr<DeviceRing> ring;
  RingView view;
  Status failure;
};

TEST_F(DeviceRingTest, AnEmptyRingMovesNothing) {
  make();
  EXPECT_FALSE(step());
  EXPECT_TRUE(transport.ops.empty());
  EXPECT_EQ(transport.progress_calls, 0);
}

TEST_F(DeviceRingTest, CapacityIsRoundedUpToAPowerOfTwo) {
  make(5);
  EXPECT_EQ(view.capacity, 8u);
}

TEST_F(DeviceRingTest, RecordsArePostedInOrderOnTheLaneABatchAtATime) {
  make();
  push_all(view, 1, 6);
  EXPECT_TRUE(step());
  EXPECT_THAT(posted(), ::testing::ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(transport.ops[0].first, kLane);
  EXPECT_EQ(consumed(view), 4u);
  EXPECT_EQ(completed(view), 4u);
  EXPECT_TRUE(step());
  EXPECT_THAT(posted(), ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(completed(view), 6u);
  EXPECT_FALSE(step());
}

TEST_F(DeviceRingTest, AFullRingRefusesUntilRecordsAreTaken) {
  make();
  push_all(view, 1, 8);
  EXPECT_FALSE(push(view, numbered_put(9)));
  EXPECT_TRUE(step());
  push_all(view, 9, 4);
  EXPECT_FALSE(push(view, numbered_put(13)));
}

TEST_F(DeviceRingTest, ManyLapsLoseAndRepeatNothing) {
  make(4, 3);
  std::mt19937_64 random(test_seed());
  std::uint64_t pushed = 0;
  while (pushed < 1000) {
    if (random() % 3 == 0) transport.busy_posts = static_cast<int>(random() % 3);
    for (std::uint64_t i = random() % 6; i > 0; --i)
      if (push(view, numbered_put(pushed + 1))) ++pushed;
    step();
  }
  for (int i = 0; i < 10; ++i) step();
  ASSERT_EQ(posted().size(), pushed);
  for (std::uint64_t i = 0; i < pushed; ++i) ASSERT_EQ(posted()[i], i + 1);
  EXPECT_EQ(completed(view), pushed);
  EXPECT_TRUE(failure.is_ok());
}

TEST_F(DeviceRingTest, ABusyTransportKeepsRecordsAndTheirOrder) {
  make();
  push_all(view, 1, 3);
  transport.busy_posts = 2;
  EXPECT_FALSE(step());
  EXPECT_EQ(consumed(view), 0u);  // the source may not be reused yet
  EXPECT_FALSE(step());
  EXPECT_TRUE(step());
  EXPECT_THAT(posted(), ::testing::ElementsAre(1, 2, 3));
}

TEST_F(DeviceRingTest, ABusyTransportIsMovedAlsoWithNothingOutstanding) {
  make();
  push_all(view, 1, 1);
  transport.busy_posts = 1;
  step();
  EXPECT_EQ(transport.progress_calls, 1);
}

TEST_F(DeviceRingTest, CompletionIsPublishedWhenTheTransportSaysSo) {
  make();
  transport.complete_at_once = false;
  push_all(view, 1, 3);
  EXPECT_TRUE(step());
  EXPECT_EQ(consumed(view), 3u);
  EXPECT_EQ(completed(view), 0u);
  transport.complete(kLane, 2);
  EXPECT_TRUE(step());
  EXPECT_EQ(completed(view), 2u);
}

TEST_F(DeviceRingTest, CompletionOfTwoTransportsIsPublishedInRingOrder) {
  auto owned = std::make_unique<RecordingTransport>();
  RecordingTransport& other = *owned;
  recording.routes.transports.push_back(std::move(owned));
  recording.routes.via[1] = 1;
  transport.complete_at_once = false;
  make();
  ASSERT_TRUE(push(view, numbered_put(1, 0)));
  ASSERT_TRUE(push(view, numbered_put(2, 1)));  // complete at once, but after record 1
  step();
  ASSERT_EQ(other.ops.size(), 1u);
  EXPECT_EQ(completed(view), 0u);
  transport.complete(kLane, 1);
  step();
  EXPECT_EQ(completed(view), 2u);
}

TEST_F(DeviceRingTest, AFenceToAllReachesEveryTransport) {
  recording.routes.transports.push_back(std::make_unique<RecordingTransport>());
  make();
  Op fence;
  fence.kind = OpKind::kFence;
  fence.pe = kAllPes;
  ASSERT_TRUE(push(view, fence));
  step();
  EXPECT_EQ(transport.ops.size(), 1u);
  EXPECT_EQ(completed(view), 1u);
}

TEST_F(DeviceRingTest, AResultIsThereBeforeItsCompletion) {
  make();
  alignas(8) std::byte heap[64] = {};
  heap[8] = std::byte{42};
  transport.heap = heap;
  Op op;
  op.kind = OpKind::kAmoFetchAdd;
  op.width = 8;
  op.remote = 8;
  op.value = 5;
  dev::ring::PushAttempt attempt;
  ASSERT_TRUE(dev::ring::try_publish(view, attempt, op, dev::ring::ResultUse::kBrings, 0));
  step();
  EXPECT_EQ(completed(view), 1u);
  EXPECT_EQ(view.results[attempt.ticket], 42u);
  EXPECT_EQ(heap[8], std::byte{47});
}

TEST_F(DeviceRingTest, WhatSomebodyWaitsForIsFlushedAndNothingElse) {
  make();
  transport.complete_at_once = false;
  push_all(view, 1, 2);
  step();
  step();
  EXPECT_EQ(transport.flushes, 0);
  EXPECT_FALSE(dev::ring::IsComplete{}(view, 0));
  step();
  EXPECT_EQ(transport.flushes, 1);
  transport.complete(kLane, 1);
  step();  // record 0 is there; nobody waits for record 1
  const int flushes = transport.flushes;
  step();
  EXPECT_EQ(transport.flushes, flushes);
}

// The host's memory is far from a kernel.
TEST_F(DeviceRingTest, WhatIsCompleteIsRememberedNearTheKernel) {
  make();
  push_all(view, 1, 3);
  step();
  ASSERT_EQ(completed(view), 3u);
  EXPECT_TRUE(dev::ring::IsComplete{}(view, 0));
  *view.completed = 0;  // which nobody asks now
  EXPECT_TRUE(dev::ring::IsComplete(false)(view, 2));
  EXPECT_FALSE(dev::ring::IsComplete(false)(view, 3));
}

TEST_F(DeviceRingTest, WhoWaitsLongLooksOnlyWhileNobodyElseDoes) {
  make();
  push_all(view, 1, 1);
  dev::ring::IsComplete is_complete;
  dev::ring::IsConsumed is_consumed;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_complete(view, 0) || is_consumed(view, 0));
  step();
  for (HostCount* count : {&view.tickets->completed, &view.tickets->consumed}) {
    EXPECT_EQ(count->asking, 0u);
    count->asking = 1;
  }
  EXPECT_FALSE(is_complete(view, 0) || is_consumed(view, 0));
  for (HostCount* count : {&view.tickets->completed, &view.tickets->consumed}) {
    EXPECT_EQ(count->asking, 1u);
    count->asking = 0;
  }
  EXPECT_TRUE(is_complete(view, 0) && is_consumed(view, 0));
  EXPECT_EQ(view.tickets->completed.known, 1u);
  EXPECT_EQ(view.tickets->consumed.known, 1u);
  EXPECT_EQ(view.tickets->completed.asking + view.tickets->consumed.asking, 0u);
}

TEST_F(DeviceRingTest, ARefusedRecordCountsAsCompleteAndIsReported) {
  make();
  ASSERT_TRUE(push(view, numbered_put(1)));
  ASSERT_TRUE(push(view, numbered_put(2, 99)));
  ASSERT_TRUE(push(view, numbered_put(3)));
  step();
  EXPECT_THAT(posted(), ::testing::ElementsAre(1, 3));
  EXPECT_EQ(completed(view), 3u);
  EXPECT_EQ(failure.code(), Code::kOutOfRange);
  EXPECT_THAT(std::string(failure.text()), HasSubstr("operation 1 of the kernels of context 3"));
  EXPECT_THAT(std::string(failure.text()), HasSubstr("PE 99 does not exist"));
}

TEST_F(DeviceRingTest, AFailureDuringProgressIsReportedOnce) {
  make();
  transport.complete_at_once = false;
  push_all(view, 1, 1);
  transport.progress_error = Status::error(Code::kPeerLost, "PE 2 is gone");
  step();
  EXPECT_EQ(failure.code(), Code::kPeerLost);
  failure = Status::ok();
  step();
  EXPECT_TRUE(failure.is_ok());
}

TEST_F(DeviceRingTest, BusyForTooLongFailsTheRecordAndGoesOn) {
  make(8, 4, 2 * kSecond);
  push_all(view, 1, 2);
  transport.busy_posts = 3;
  step(10 * kSecond);
  step(12 * kSecond - 1);
  EXPECT_TRUE(failure.is_ok());
  EXPECT_EQ(consumed(view), 0u);
  step(12 * kSecond);
  EXPECT_EQ(failure.code(), Code::kTimeout);
  EXPECT_THAT(std::string(failure.text()), HasSubstr("no room for 2 s"));
  EXPECT_THAT(posted(), ::testing::ElementsAre(2));  // the next has a deadline of its own
  EXPECT_EQ(completed(view), 2u);
}

TEST_F(DeviceRingTest, ARecordThatSomebodyWaitsForInVainIsReportedOnce) {
  make(8, 4, 2 * kSecond);
  transport.complete_at_once = false;
  push_all(view, 1, 3);
  step(10 * kSecond);
  step(20 * kSecond);  // nobody waits: no deadline runs
  EXPECT_TRUE(failure.is_ok());
  EXPECT_FALSE(dev::ring::IsComplete{}(view, 2));
  step(21 * kSecond);
  EXPECT_TRUE(failure.is_ok());
  step(22 * kSecond);
  EXPECT_EQ(failure.code(), Code::kTimeout);
  EXPECT_THAT(std::string(failure.text()), HasSubstr("not complete after 2 s, with 2 more behind"));
  failure = Status::ok();
  step(30 * kSecond);
  EXPECT_TRUE(failure.is_ok());
  transport.complete(kLane, 3);  // late, but not lost
  step(31 * kSecond);
  EXPECT_EQ(completed(view), 3u);
}

}  // namespace
}  // namespace weft
