#include "host/transport/lane_queue.hpp"

#include <cstdint>
#include <tuple>
#include <vector>

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

// A transport that takes 10 bytes at a time: 24 bytes go as 10, 10 and 4, the notify with the last.
class PiecesTest : public LaneQueueTest {
 protected:
  PiecesTest() {
    transport[0]->capabilities.max_bytes = 10;
    op = put_to_pe(1);
    op.bytes = 24;
    op.remote = 100;
    op.local = 1000;
    op.notify = NotifyOp::kAdd;
  }
  // A piece that was posted: offset in the op, bytes, notify.
  using Piece = std::tuple<std::uint64_t, std::uint64_t, NotifyOp>;
  std::vector<Piece> pieces() const {
    std::vector<Piece> all;
    for (const auto& [at, posted] : transport[0]->ops) {
      if (posted.kind == OpKind::kFence) continue;
      EXPECT_EQ(posted.remote - 100, posted.local - 1000);
      all.emplace_back(posted.remote - 100, posted.bytes, posted.notify);
    }
    return all;
  }
  const std::vector<Piece> wanted = {
      {0, 10, NotifyOp::kNone}, {10, 10, NotifyOp::kNone}, {20, 4, NotifyOp::kAdd}};
  Op op;
};

TEST_F(PiecesTest, TheNotifyGoesWithTheLast) {
  LaneQueue queue(routes, lane);
  LaneQueue::Ticket ticket;
  ASSERT_TRUE(queue.post(op, &ticket).is_ok());
  EXPECT_EQ(pieces(), wanted);
  EXPECT_EQ(queue.outstanding(), 3u);
  transport[0]->complete(lane, 2);
  EXPECT_FALSE(queue.done(ticket));
  transport[0]->complete(lane, 1);
  EXPECT_TRUE(queue.done(ticket));
}

TEST_F(PiecesTest, AnUnorderedTransportIsFencedBeforeTheNotify) {
  transport[0]->capabilities.in_order = false;
  LaneQueue queue(routes, lane);
  ASSERT_TRUE(queue.post(op).is_ok());
  EXPECT_EQ(pieces(), wanted);
  ASSERT_EQ(transport[0]->ops.size(), 4u);
  EXPECT_EQ(transport[0]->ops[2].second.kind, OpKind::kFence);
  op.notify = NotifyOp::kNone;  // nothing to order
  ASSERT_TRUE(queue.post(op).is_ok());
  EXPECT_EQ(transport[0]->ops.size(), 7u);
}

TEST_F(PiecesTest, BusyAtEveryPlaceRepeatsAndLosesNothing) {
  transport[0]->capabilities.in_order = false;
  for (std::size_t place = 0; place <= 4; ++place) {
    transport[0]->ops.clear();
    LaneQueue queue(routes, lane);
    transport[0]->refuse = [&](const Op&) {
      return transport[0]->ops.size() == place ? Status::busy() : Status::ok();
    };
    EXPECT_EQ(queue.post(op).is(Code::kBusy), place < 4);
    transport[0]->refuse = {};
    if (place < 4) {
      ASSERT_TRUE(queue.post(op).is_ok());
    }
    EXPECT_EQ(pieces(), wanted) << "busy at " << place;
    EXPECT_EQ(transport[0]->ops.size(), 4u);
    transport[0]->complete(lane, 4);
  }
}

TEST_F(PiecesTest, GivingUpInTheMiddleLeavesNothingBehindForTheNextOp) {
  LaneQueue queue(routes, lane);
  transport[0]->refuse = [&](const Op& each) {
    return each.remote == 110 ? Status::busy() : Status::ok();
  };
  EXPECT_TRUE(queue.post(op).is(Code::kBusy));
  queue.mark_failed();
  transport[0]->refuse = {};
  transport[0]->ops.clear();
  ASSERT_TRUE(queue.post(op).is_ok());
  EXPECT_EQ(pieces(), wanted);
}

TEST_F(PiecesTest, AFailureInTheMiddleLeavesNothingBehindForTheNextOp) {
  LaneQueue queue(routes, lane);
  transport[0]->refuse = [&](const Op& each) {
    return each.remote == 110 ? Status::error(Code::kIo, "no") : Status::ok();
  };
  EXPECT_TRUE(queue.post(op).is(Code::kIo));
  transport[0]->refuse = {};
  transport[0]->ops.clear();
  ASSERT_TRUE(queue.post(op).is_ok());
  EXPECT_EQ(pieces(), wanted);
}

TEST_F(PiecesTest, ABadOpIsRefusedBeforeItIsCut) {
  LaneQueue queue(routes, lane);
  op.value = RecordingTransport::kBadValue;
  EXPECT_TRUE(queue.post(op).is(Code::kInvalidArgument));
  EXPECT_TRUE(transport[0]->ops.empty());
}

TEST_F(PiecesTest, WhatFitsAndWhatIsNoTransferIsNotCut) {
  LaneQueue queue(routes, lane);
  op.bytes = 10;
  ASSERT_TRUE(queue.post(op).is_ok());
  op.kind = OpKind::kAmoAdd;
  op.bytes = 99;  // means nothing there
  ASSERT_TRUE(queue.post(op).is_ok());
  EXPECT_EQ(transport[0]->ops.size(), 2u);
}

TEST_F(LaneQueueTest, KeepsTheFirstFailureUntilItIsTaken) {
  LaneQueue queue(routes, lane);
  transport[0]->progress_error = Status::error(Code::kPeerLost, "first");
  queue.progress();
  transport[1]->progress_error = Status::error(Code::kIo, "second");
  queue.progress();
  EXPECT_STREQ(queue.take_error().text(), "first");
  EXPECT_TRUE(queue.take_error().is_ok());
}

// One that must be driven while something of it is outstanding, and one that moves sooner so.
TEST_F(LaneQueueTest, MovesOnWhatWantsIt) {
  transport[1]->capabilities.needs_progress = false;
  LaneQueue queue(routes, lane);
  EXPECT_FALSE(queue.move_on());
  ASSERT_TRUE(queue.post(put_to_pe(0)).is_ok());
  ASSERT_TRUE(queue.post(put_to_pe(2)).is_ok());
  EXPECT_TRUE(queue.move_on());
  EXPECT_EQ(transport[0]->progress_calls, 1);
  EXPECT_EQ(transport[1]->progress_calls, 0);
  EXPECT_EQ(queue.rounds(), 1u);
  transport[0]->complete(lane, 1);
  EXPECT_FALSE(queue.move_on());
  transport[0]->capabilities.moves_sooner = true;
  LaneQueue eager(routes, lane);
  EXPECT_TRUE(eager.move_on());
  EXPECT_EQ(transport[0]->progress_calls, 2);
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
