// Outstanding: what a fence holds back, and until when. StallTimer: when nothing moves.
#include "host/transport/ib/outstanding.hpp"

#include <gtest/gtest.h>

#include "host/transport/ib/stall_timer.hpp"

namespace weft::ib {
namespace {

TEST(Outstanding, AFenceWithNothingBeforeItHoldsNothingBack) {
  Outstanding outstanding(true);
  outstanding.fence(3);
  EXPECT_FALSE(outstanding.holds_back(false));
  EXPECT_EQ(outstanding.fenced_at(), 3u);
  outstanding.add(Method::kOwner, false);  // behind the fence
  EXPECT_FALSE(outstanding.holds_back(false));
}

TEST(Outstanding, NothingIsHeldBackWithoutAFence) {
  Outstanding outstanding(true);
  for (const Method method : {Method::kTransfer, Method::kDeviceAtomic, Method::kCompareSwap,
                              Method::kOwner, Method::kStagingSlot})
    outstanding.add(method, method == Method::kTransfer);
  EXPECT_FALSE(outstanding.holds_back(false));
}

TEST(Outstanding, TheQueuePairOrdersTransfers) {
  Outstanding outstanding(true);
  outstanding.add(Method::kTransfer, false);
  outstanding.fence(1);
  EXPECT_FALSE(outstanding.holds_back(false));
  EXPECT_FALSE(outstanding.needs_device_fence());
}

TEST(Outstanding, RepliesHoldBackAllButAtomicsOfTheOwner) {
  for (const Method method : {Method::kOwner, Method::kStagingSlot}) {
    Outstanding outstanding(false);
    outstanding.add(method, false);
    outstanding.add(method, false);
    outstanding.fence(2);
    EXPECT_TRUE(outstanding.holds_back(false));
    EXPECT_FALSE(outstanding.holds_back(true));
    outstanding.remove_work(method, false);  // the device is done; the owner is not
    outstanding.remove_reply();
    EXPECT_TRUE(outstanding.holds_back(false)) << "one of two";
    outstanding.remove_reply();
    EXPECT_FALSE(outstanding.holds_back(false));
  }
}

TEST(Outstanding, PiecesOnOtherRailsHoldBackAtomicsOfTheOwnerToo) {
  Outstanding outstanding(false);
  outstanding.add(Method::kTransfer, true);
  outstanding.add(Method::kTransfer, true);
  outstanding.fence(2);
  EXPECT_TRUE(outstanding.holds_back(false));
  EXPECT_TRUE(outstanding.holds_back(true));
  outstanding.remove_work(Method::kTransfer, true);
  outstanding.remove_work(Method::kTransfer, false);  // on the main rail
  EXPECT_TRUE(outstanding.holds_back(true));
  outstanding.remove_work(Method::kTransfer, true);
  EXPECT_FALSE(outstanding.holds_back(true));
}

TEST(Outstanding, AtomicsOfTheDeviceAreMarkedOrWaitedFor) {
  for (const bool waits : {false, true}) {
    for (const Method method : {Method::kDeviceAtomic, Method::kCompareSwap}) {
      Outstanding outstanding(waits);
      EXPECT_FALSE(outstanding.needs_device_fence());
      outstanding.add(method, false);
      outstanding.fence(1);
      EXPECT_EQ(outstanding.needs_device_fence(), !waits);
      EXPECT_EQ(outstanding.holds_back(true), waits);
      EXPECT_EQ(outstanding.has_compare_swaps(), method == Method::kCompareSwap);
      outstanding.remove_work(method, false);
      EXPECT_FALSE(outstanding.needs_device_fence());
      EXPECT_FALSE(outstanding.holds_back(true));
      EXPECT_FALSE(outstanding.has_compare_swaps());
    }
  }
}

TEST(Outstanding, ALiftedFenceIsNotClosedByWhatComesLater) {
  Outstanding outstanding(false);
  outstanding.add(Method::kOwner, false);
  outstanding.fence(1);
  outstanding.remove_reply();
  outstanding.add(Method::kOwner, false);
  EXPECT_FALSE(outstanding.holds_back(false));
  outstanding.fence(2);
  EXPECT_TRUE(outstanding.holds_back(false));
}

// The clock is read at every kCalls-th call.
class StallTimerTest : public ::testing::Test {
 protected:
  // Whether one of as many calls as lead to one reading says so.
  bool has_stalled(std::uint64_t oldest, std::uint64_t now) {
    bool stalled = false;
    for (std::uint64_t i = 0; i < StallTimer::kCalls; ++i)
      stalled |= timer_.has_stalled(oldest, [&] {
        ++readings_;
        return now;
      });
    return stalled;
  }
  StallTimer timer_;
  int readings_ = 0;
};

TEST_F(StallTimerTest, SaysSoOnceASecond) {
  constexpr std::uint64_t kStart = 5;
  EXPECT_FALSE(has_stalled(1, kStart));
  EXPECT_FALSE(has_stalled(1, kStart + StallTimer::kStallNs - 1));
  EXPECT_TRUE(has_stalled(1, kStart + StallTimer::kStallNs));
  EXPECT_FALSE(has_stalled(1, kStart + 2 * StallTimer::kStallNs - 1));
  EXPECT_TRUE(has_stalled(1, kStart + 2 * StallTimer::kStallNs));
  EXPECT_EQ(readings_, 5);
}

TEST_F(StallTimerTest, AnotherOldestRequestBeginsAnew) {
  EXPECT_FALSE(has_stalled(1, 5));
  EXPECT_FALSE(has_stalled(2, 5 + StallTimer::kStallNs));
  EXPECT_FALSE(has_stalled(2, 5 + 2 * StallTimer::kStallNs - 1));
  EXPECT_TRUE(has_stalled(2, 5 + 2 * StallTimer::kStallNs));
}

}  // namespace
}  // namespace weft::ib
