#include "host/proxy/proxy.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "tests/support/recording_transport.hpp"
#include "tests/unit/proxy/kernel_end.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

class ProxyTest : public ::testing::Test {
 protected:
  ProxyTest() {
    options.ring_capacity = 8;
    Proxy::Config config;
    config.platform = &cpu_platform();
    config.routes = &recording.routes;
    config.options = &options;
    config.pe = 1;
    config.heap_bytes = 1 << 20;
    config.last_writer = [](std::uint64_t) { return std::string("PE 2"); };
    config.on_failure = [this](const Status& status) { failures.push_back(status); };
    auto made = Proxy::create(std::move(config));
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    proxy = std::move(*made);
  }

  // A fault as a kernel's thread leaves it behind, with its stores in the same order.
  void leave_fault(FaultCode code) {
    FaultRecord& record = *proxy->fault();
    ASSERT_EQ(__atomic_exchange_n(&record.claimed, 1u, __ATOMIC_ACQUIRE), 0u);
    record.pe = 3;
    record.offset = 0x88;
    record.seen = 1;
    record.wanted = 2;
    record.cmp = static_cast<std::uint32_t>(Cmp::kEq);
    std::snprintf(record.where, sizeof(record.where), "barrier");
    __atomic_store_n(&record.code, static_cast<std::uint32_t>(code), __ATOMIC_RELEASE);
  }

  Options options;
  RecordingRoutes recording{4};
  RecordingTransport& transport = *recording.transport;
  std::vector<Status> failures;
  std::unique_ptr<Proxy> proxy;
};

TEST_F(ProxyTest, StepsEveryRingOnALaneOfItsOwn) {
  const RingView first = *proxy->open_ring(0);
  const RingView third = *proxy->open_ring(2);
  ASSERT_TRUE(push(first, numbered_put(1)));
  ASSERT_TRUE(push(third, numbered_put(2)));
  EXPECT_TRUE(proxy->step(1));
  ASSERT_EQ(transport.ops.size(), 2u);
  EXPECT_EQ(transport.ops[0].first, device_lane(0));
  EXPECT_EQ(transport.ops[1].first, device_lane(2));
  EXPECT_FALSE(proxy->step(2));
  EXPECT_TRUE(proxy->health().is_ok());
}

// WEFT_WAIT_ACTION=wait: a report is no failure, until the limit.
TEST_F(ProxyTest, AWaitThatGoesOnIsNoFailureBeforeItsLimit) {
  options.wait_limit = 2;
  proxy->fault()->goes_on = 1;
  proxy->fault()->waited_ns = 1'000'000'000;
  leave_fault(FaultCode::kWaitTimeout);
  proxy->step(1);
  EXPECT_TRUE(proxy->health().is_ok());
  EXPECT_TRUE(failures.empty());
  proxy->fault()->waited_ns = 2'000'000'000;
  leave_fault(FaultCode::kWaitTimeout);
  proxy->step(2);
  EXPECT_EQ(proxy->health().code(), Code::kTimeout);
  EXPECT_EQ(failures.size(), 1u);
}

TEST_F(ProxyTest, ARingIsMadeOnceAndTakenOver) {
  const RingView first = *proxy->open_ring(4);
  ASSERT_TRUE(push(first, numbered_put(1)));
  proxy->step(1);
  const RingView again = *proxy->open_ring(4);
  EXPECT_EQ(again.slots, first.slots);
  ASSERT_TRUE(push(again, numbered_put(2)));
  proxy->step(2);
  EXPECT_EQ(completed(again), 2u);
}

TEST_F(ProxyTest, AContextWithoutARingNumberIsRefused) {
  EXPECT_EQ(proxy->open_ring(-1).status().code(), Code::kOutOfRange);
  EXPECT_EQ(proxy->open_ring(kMaxLanes).status().code(), Code::kOutOfRange);
}

TEST_F(ProxyTest, AFaultIsPrintedOnceAndStays) {
  leave_fault(FaultCode::kWaitTimeout);
  ::testing::internal::CaptureStderr();
  for (int i = 1; i <= 3; ++i) proxy->step(static_cast<std::uint64_t>(i));
  const std::string printed = ::testing::internal::GetCapturedStderr();
  const std::string text =
      "kernel on PE 1 (context 0, block 0, thread 0), barrier: waited 0 s for PE 3 at heap offset "
      "0x88: saw 1, wanted == 2; last written by PE 2";
  EXPECT_THAT(printed, HasSubstr(text));
  EXPECT_EQ(printed.find(text), printed.rfind(text));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
  EXPECT_EQ(proxy->health().code(), Code::kTimeout);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(std::string(failures[0].text()), HasSubstr(text));
}

TEST_F(ProxyTest, HealthKnowsOfAFaultThatNoStepHasSeen) {
  leave_fault(FaultCode::kWaitTimeout);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(proxy->health().code(), Code::kTimeout);
  proxy->step(1);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1);
  EXPECT_EQ(failures.size(), 1u);
}

TEST_F(ProxyTest, TheRecordIsGivenBackAndTheFirstFaultStays) {
  ::testing::internal::CaptureStderr();
  leave_fault(FaultCode::kWaitTimeout);
  proxy->step(1);
  leave_fault(FaultCode::kBadPe);
  proxy->step(2);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, HasSubstr("PE 3 does not exist"));
  EXPECT_EQ(proxy->health().code(), Code::kTimeout);
  EXPECT_EQ(failures.size(), 1u);
}

TEST_F(ProxyTest, AFloodOfFailuresIsNotPrinted) {
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 1000; ++i) {
    leave_fault(FaultCode::kBadPe);
    proxy->step(1);
  }
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_LT(std::count(printed.begin(), printed.end(), '\n'), 50);
  EXPECT_THAT(printed, HasSubstr("will not be printed"));
}

TEST_F(ProxyTest, AFailedOperationOfAKernelIsItsHealth) {
  const RingView ring = *proxy->open_ring(0);
  ASSERT_TRUE(push(ring, numbered_put(1, 50)));
  ::testing::internal::CaptureStderr();
  proxy->step(1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("PE 50 does not exist"));
  EXPECT_EQ(proxy->health().code(), Code::kOutOfRange);
}

TEST_F(ProxyTest, DrivesLanesWhileSomethingIsOutstandingAndKeepsTheirFailures) {
  transport.complete_at_once = false;
  LaneQueue queue(recording.routes, host_lane(0));
  proxy->drive(&queue);
  proxy->step(1);
  EXPECT_EQ(transport.progress_calls, 0);
  ASSERT_TRUE(queue.post(numbered_put(1)).is_ok());
  transport.progress_error = Status::error(Code::kIo, "cut");
  proxy->step(2);
  EXPECT_EQ(transport.progress_calls, 1);
  EXPECT_TRUE(proxy->health().is_ok());  // it is the lane's owner who is told
  EXPECT_STREQ(queue.take_error().text(), "cut");
  proxy->release(&queue);
  proxy->step(3);
  EXPECT_EQ(transport.progress_calls, 1);
}

TEST_F(ProxyTest, LeavesALaneToAnOwnerWhoMovesItHimself) {
  transport.complete_at_once = false;
  LaneQueue queue(recording.routes, host_lane(0));
  proxy->drive(&queue);
  ASSERT_TRUE(queue.post(numbered_put(1)).is_ok());
  for (int i = 1; i < 4; ++i) {
    queue.progress();
    proxy->step(1);
    EXPECT_EQ(transport.progress_calls, i);
  }
  proxy->step(2);  // the owner was not seen since
  proxy->step(3);
  EXPECT_EQ(transport.progress_calls, 5);
  proxy->release(&queue);
}

// --- the thread ---------------------------------------------------------------------------------

bool eventually(const std::function<bool()>& condition) {
  const Deadline deadline(60);
  while (!condition()) {
    if (deadline.expired()) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_F(ProxyTest, TheThreadCarriesRecordsOutAndStopsAndStartsAgain) {
  const RingView ring = *proxy->open_ring(0);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    EXPECT_TRUE(proxy->start().is_ok());
    EXPECT_TRUE(proxy->start().is_ok());  // once is enough
    EXPECT_TRUE(proxy->is_running());
    for (std::uint64_t i = 1; i <= 100; ++i)
      ASSERT_TRUE(eventually([&] { return push(ring, numbered_put(i)); }));
    ASSERT_TRUE(eventually([&] { return completed(ring) == 100 * round; }));
    proxy->stop();
    proxy->stop();
    EXPECT_FALSE(proxy->is_running());
  }
  EXPECT_EQ(transport.ops.size(), 300u);
}

TEST_F(ProxyTest, ARingOpenedWhileTheThreadSleepsIsServed) {
  EXPECT_TRUE(proxy->start().is_ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const RingView ring = *proxy->open_ring(9);
  ASSERT_TRUE(push(ring, numbered_put(1)));
  EXPECT_TRUE(eventually([&] { return completed(ring) == 1; }));
  leave_fault(FaultCode::kBadPe);
  EXPECT_TRUE(eventually([&] { return !proxy->health().is_ok(); }));
}

}  // namespace
}  // namespace weft
