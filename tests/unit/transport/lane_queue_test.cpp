#include "host/transport/lane_queue.hpp"

#include <gtest/gtest.h>

#include "tests/support/recording_transport.hpp"

namespace weft {
namespace {

Op put_to_pe(std::uint32_t pe) {
  Op op;
  op.kind = OpKind::kPut;
  op.pe = pe;
  return op;
}

// PEs 0 and 1 through one transport, PE 2 through another.
class LaneQueueTest : public ::testing::Test {
 protected:
  LaneQueueTest() {
    for (int i = 0; i < 2; ++i) {
      auto owned = std::make_unique<RecordingTransport>();
      owned->complete_at_once = false;
      transport[i] = owned.get();
      routes.transports.push_back(std::move(owned));
    }
    routes.peer.assign(3, nullptr);
    routes.via = {0, 0, 1};
  }
  Routes routes;
  RecordingTransport* transport[2];
  const Lane lane = host_lane(5);
};

TEST_F(LaneQueueTest, PostsToTheRouteOfThePe) {
  LaneQueue queue(routes, lane);
  for (const std::uint32_t pe : {2u, 0u, 1u}) EXPECT_TRUE(queue.post(put_to_pe(pe)).is_ok());
  ASSERT_EQ(transport[0]->ops.size(), 2u);
  ASSERT_EQ(transport[1]->ops.size(), 1u);
  EXPECT_EQ(transport[0]->ops[0].second.pe, 0u);
  EXPECT_EQ(transport[1]->ops[0].first, lane);
}

TEST_F(LaneQueueTest, CountsCompletionsPerTransport) {
  LaneQueue queue(routes, lane);
  EXPECT_TRUE(queue.all_done());
  LaneQueue::Ticket first, second, other;
  ASSERT_TRUE(queue.post(put_to_pe(0), &first).is_ok());
  ASSERT_TRUE(queue.post(put_to_pe(2), &other).is_ok());
  ASSERT_TRUE(queue.post(put_to_pe(1), &second).is_ok());
  EXPECT_EQ(queue.outstanding(), 3u);
  transport[0]->complete(lane, 1);
  EXPECT_TRUE(queue.done(first));
  EXPECT_FALSE(queue.done(second));
  EXPECT_FALSE(queue.done(other));
  transport[1]->complete(lane, 1);
  EXPECT_TRUE(queue.done(other));
  EXPECT_TRUE(queue.all_done(2));
  EXPECT_FALSE(queue.all_done(0));
  EXPECT_FALSE(queue.all_done());
  EXPECT_TRUE(queue.needs_progress());
  transport[0]->complete(lane, 1);
  EXPECT_TRUE(queue.all_done());
  EXPECT_FALSE(queue.needs_progress());
  EXPECT_EQ(queue.outstanding(), 0u);
}

TEST_F(LaneQueueTest, ABusyOrRefusedOpDoesNotCount) {
  LaneQueue queue(routes, lane);
  transport[0]->busy_posts = 2;
  EXPECT_TRUE(queue.post(put_to_pe(0)).is(Code::kBusy));
  EXPECT_TRUE(queue.post(put_to_pe(0)).is(Code::kBusy));
  EXPECT_TRUE(queue.all_done());
  transport[0]->refuse = [](const Op&) { return Status::error(Code::kIo, "no"); };
  EXPECT_TRUE(queue.post(put_to_pe(0)).is(Code::kIo));
  EXPECT_TRUE(queue.all_done());
  EXPECT_TRUE(queue.post(put_to_pe(3)).is(Code::kOutOfRange));
}

TEST_F(LaneQueueTest, AFenceToAllReachesEveryTransportOnce) {
  LaneQueue queue(routes, lane);
  Op fence;
  fence.kind = OpKind::kFence;
  fence.pe = kAllPes;
  transport[1]->busy_posts = 1;
  EXPECT_TRUE(queue.post(fence).is(Code::kBusy));
  EXPECT_TRUE(queue.post(fence).is_ok());  // goes on where it was
  EXPECT_EQ(transport[0]->ops.size(), 1u);
  EXPECT_EQ(transport[1]->ops.size(), 1u);
  EXPECT_TRUE(queue.post(fence).is_ok());  // and another one starts over
  EXPECT_EQ(transport[0]->ops.size(), 2u);
  EXPECT_EQ(transport[1]->ops.size(), 2u);
}

TEST_F(LaneQueueTest, KeepsTheFirstFailureUntilItIsTaken) {
  LaneQueue queue(routes, lane);
  transport[0]->progress_error = Status::error(Code::kPeerLost, "first");
  queue.progress();
  transport[1]->progress_error = Status::error(Code::kIo, "second");
  queue.progress();
  EXPECT_EQ(queue.take_error().text(), "first");
  EXPECT_TRUE(queue.take_error().is_ok());
}

TEST_F(LaneQueueTest, FlushesOnlyWhereSomethingIsOutstanding) {
  LaneQueue queue(routes, lane);
  ASSERT_TRUE(queue.post(put_to_pe(2)).is_ok());
  queue.flush();
  EXPECT_EQ(transport[0]->flushes, 0);
  EXPECT_EQ(transport[1]->flushes, 1);
}

TEST_F(LaneQueueTest, ALaneMayBeTakenOver) {
  {
    LaneQueue earlier(routes, lane);
    ASSERT_TRUE(earlier.post(put_to_pe(0)).is_ok());
    transport[0]->complete(lane, 1);
  }
  LaneQueue queue(routes, lane);
  EXPECT_TRUE(queue.all_done());
  ASSERT_TRUE(queue.post(put_to_pe(0)).is_ok());
  EXPECT_FALSE(queue.all_done());
}

}  // namespace
}  // namespace weft
