// InFlightRequests: every state with every event, and what counts as complete. Without a device.
#include "host/transport/ib/in_flight_requests.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/status.hpp"
#include "tests/unit/transport/ib_idle_env.hpp"

namespace weft::ib {
namespace {

using State = RequestState;
constexpr std::array kStates = {State::kPosted,        State::kRequested,   State::kAwaitingReply,
                                State::kReading,       State::kStepPending, State::kReplay,
                                State::kReplayRequest, State::kReplayRead,  State::kComplete};

using Event = bool (*)(InFlightRequest&);
bool replied(InFlightRequest& request) { return request.replied(false); }
bool replied_with_bytes_to_read(InFlightRequest& request) { return request.replied(true); }

// The states that take an event while the device has so much work, and where each leads. The others
// refuse it, and nothing changes but the count of work, which those of `counts` take anyway.
struct Row {
  const char* name;
  Event event;
  int work, work_after;
  std::vector<std::pair<State, State>> taken;
  bool counts = false;
};
constexpr Event kPost = [](InFlightRequest& r) { return r.work_posted(); };
constexpr Event kNothing = [](InFlightRequest& r) { return r.nothing_posted(); };
constexpr Event kComplete = [](InFlightRequest& r) { return r.work_completed(); };
constexpr Event kFail = [](InFlightRequest& r) { return r.work_failed(); };
constexpr Event kStep = [](InFlightRequest& r) { return r.step_did_not_match(); };
constexpr Event kReplyLost = [](InFlightRequest& r) { return r.reply_lost(); };
constexpr Event kReadDelayed = [](InFlightRequest& r) { return r.read_delayed(); };
constexpr Event kAbandon = [](InFlightRequest& r) { return r.abandon(); };

const std::vector<Row> kRows = {
    {"posted",
     kPost,
     0,
     1,
     {{State::kPosted, State::kPosted},
      {State::kRequested, State::kRequested},
      {State::kReading, State::kReading},
      {State::kStepPending, State::kPosted},
      {State::kReplay, State::kPosted},
      {State::kAwaitingReply, State::kRequested},
      {State::kReplayRequest, State::kRequested},
      {State::kReplayRead, State::kReading}}},
    {"nothing posted",
     kNothing,
     0,
     0,
     {{State::kPosted, State::kComplete}, {State::kReplay, State::kComplete}}},
    {"nothing posted, though there is work", kNothing, 1, 1, {}},
    {"the last work completed",
     kComplete,
     1,
     0,
     {{State::kPosted, State::kComplete},
      {State::kRequested, State::kAwaitingReply},
      {State::kReading, State::kComplete}},
     true},
    {"one of two completed", kComplete, 2, 1, {}, true},
    {"none that could complete", kComplete, 0, 0, {}},
    {"the last work failed",
     kFail,
     1,
     0,
     {{State::kPosted, State::kReplay},
      {State::kRequested, State::kReplayRequest},
      {State::kReading, State::kReplayRead}},
     true},
    {"one of two failed", kFail, 2, 1, {}, true},
    {"none that could fail", kFail, 0, 0, {}},
    {"a step did not match", kStep, 1, 0, {{State::kPosted, State::kStepPending}}},
    {"a step of none", kStep, 0, 0, {}},
    {"a reply behind the work",
     replied,
     0,
     0,
     {{State::kRequested, State::kComplete},
      {State::kAwaitingReply, State::kComplete},
      {State::kReplayRequest, State::kComplete}}},
    {"a reply before the work",
     replied,
     1,
     1,
     {{State::kRequested, State::kPosted},
      {State::kAwaitingReply, State::kPosted},
      {State::kReplayRequest, State::kPosted}}},
    {"a reply whose bytes are to be read",
     replied_with_bytes_to_read,
     1,
     1,
     {{State::kRequested, State::kReading},
      {State::kAwaitingReply, State::kReading},
      {State::kReplayRequest, State::kReading}}},
    {"a reply lost", kReplyLost, 0, 0, {{State::kAwaitingReply, State::kReplayRequest}}},
    {"a read delayed", kReadDelayed, 1, 1, {{State::kReading, State::kReplayRead}}},
    {"abandoned",
     kAbandon,
     2,
     0,
     {{State::kPosted, State::kComplete},
      {State::kRequested, State::kComplete},
      {State::kAwaitingReply, State::kComplete},
      {State::kReading, State::kComplete},
      {State::kStepPending, State::kComplete},
      {State::kReplay, State::kComplete},
      {State::kReplayRequest, State::kComplete},
      {State::kReplayRead, State::kComplete}}},
};

std::optional<State> next_state(const Row& row, State from) {
  for (const auto& [state, to] : row.taken)
    if (state == from) return to;
  return std::nullopt;
}

TEST(InFlightRequest, EveryStateTakesOrRefusesEveryEvent) {
  for (const Row& row : kRows) {
    for (const State from : kStates) {
      SCOPED_TRACE(std::string(row.name) + " in state " + std::to_string(static_cast<int>(from)));
      InFlightRequest request{.state = from, .work = row.work};
      const std::optional<State> to = next_state(row, from);
      EXPECT_EQ(row.event(request), to.has_value());
      EXPECT_EQ(request.state, to.value_or(from));
      EXPECT_EQ(request.work, to || row.counts ? row.work_after : row.work);
    }
  }
}

TEST(InFlightRequest, AReplayAfterALostReplyLeavesItsBytesOut) {
  InFlightRequest request{.state = State::kAwaitingReply};
  ASSERT_TRUE(request.reply_lost());
  EXPECT_TRUE(request.bytes_there);
  InFlightRequest other{.state = State::kRequested};
  ASSERT_FALSE(other.reply_lost());
  EXPECT_FALSE(other.bytes_there);
}

class InFlightRequestsTest : public ::testing::Test {
 protected:
  InFlightRequest& add(Method method, bool apart = false) {
    InFlightRequest& request =
        requests.add({.connection = &connection, .method = method, .apart = apart});
    request.work_posted();
    return request;
  }
  // Whether a fence behind all of them would wait for any.
  bool fence_waits() {
    connection.outstanding.fence(requests.next());
    return connection.outstanding.holds_back(false);
  }
  std::uint64_t completed() {
    requests.retire();
    return requests.completed();
  }
  test::IdleEnv idle{true};
  Connection connection{1, {}, 0, idle.env};
  InFlightRequests requests;
};

TEST_F(InFlightRequestsTest, CountInTheOrderOfPosting) {
  InFlightRequest& first = add(Method::kTransfer);
  InFlightRequest& second = add(Method::kTransfer);
  EXPECT_TRUE(requests.work_completed(second));
  EXPECT_EQ(completed(), 0u);
  EXPECT_TRUE(requests.work_completed(first));
  EXPECT_EQ(completed(), 2u);
  EXPECT_TRUE(requests.is_empty());
  EXPECT_EQ(requests.first(), 2u);
  EXPECT_FALSE(requests.has(1));
}

TEST_F(InFlightRequestsTest, AFenceCompletesInItsTurn) {
  InFlightRequest& first = add(Method::kTransfer);
  requests.add_fence({.kind = OpKind::kFence});
  EXPECT_EQ(completed(), 0u);
  EXPECT_TRUE(requests.work_completed(first));
  EXPECT_EQ(completed(), 2u);
}

TEST_F(InFlightRequestsTest, NothingCountsUntilAFailureIsTaken) {
  requests.fail(Status::ok());
  InFlightRequest& request = add(Method::kTransfer);
  requests.fail(Status::error(Code::kIo, "first"));
  requests.fail(Status::error(Code::kPeerLost, "second"));
  EXPECT_TRUE(requests.work_completed(request));
  EXPECT_EQ(completed(), 0u);
  const Status failure = requests.take_failure();
  EXPECT_CODE(failure, Code::kIo);
  EXPECT_EQ(std::string(failure.text()), "first");
  EXPECT_OK(requests.take_failure());
  EXPECT_EQ(completed(), 1u);
}

TEST_F(InFlightRequestsTest, AReplyIsTakenOnceAndInEitherOrder) {
  for (const bool reply_first : {false, true}) {
    InFlightRequest& request = add(Method::kOwner);
    EXPECT_TRUE(fence_waits());
    const std::uint64_t before = completed();
    if (reply_first) {
      EXPECT_TRUE(requests.replied(request, false));
      EXPECT_FALSE(requests.replied(request, false)) << "the owner answered twice";
      EXPECT_FALSE(fence_waits()) << "the owner has executed it";
      EXPECT_EQ(completed(), before);
      EXPECT_TRUE(requests.work_completed(request));
    } else {
      EXPECT_TRUE(requests.work_completed(request));
      EXPECT_TRUE(fence_waits());
      EXPECT_EQ(completed(), before);
      EXPECT_TRUE(requests.replied(request, false));
    }
    EXPECT_EQ(completed(), before + 1);
    EXPECT_FALSE(fence_waits());
  }
}

TEST_F(InFlightRequestsTest, SequenceNumbersAreOfRequestsToTheOwnerOnly) {
  EXPECT_EQ(add(Method::kTransfer).sequence, 0u);
  EXPECT_EQ(add(Method::kOwner).sequence, 1u);
  EXPECT_EQ(add(Method::kDeviceAtomic).sequence, 0u);
  EXPECT_EQ(add(Method::kStagingSlot).sequence, 2u);
}

TEST_F(InFlightRequestsTest, AsManyRepliesAsTheOwnerKeeps) {
  for (int i = 0; i < InFlightRequests::kMostReplies; ++i) {
    EXPECT_TRUE(requests.has_room_for_reply()) << i;
    add(Method::kOwner);
  }
  EXPECT_FALSE(requests.has_room_for_reply());
  EXPECT_TRUE(requests.replied(requests[0], false));
  EXPECT_TRUE(requests.has_room_for_reply());
  add(Method::kStagingSlot);
  EXPECT_FALSE(requests.has_room_for_reply());
  EXPECT_TRUE(requests.abandon(requests[1]));
  EXPECT_TRUE(requests.has_room_for_reply());
}

TEST_F(InFlightRequestsTest, AGetByAStagingSlotIsReadOnceReplied) {
  InFlightRequest& request = add(Method::kStagingSlot);
  EXPECT_TRUE(requests.replied(request, true));  // before its work completes
  request.work_posted();                         // the read
  EXPECT_FALSE(fence_waits());
  EXPECT_FALSE(requests.work_completed(request)) << "that was the request";
  EXPECT_EQ(completed(), 0u);
  EXPECT_TRUE(requests.work_completed(request));
  EXPECT_EQ(completed(), 1u);
}

TEST_F(InFlightRequestsTest, AReplayCountsOnce) {
  InFlightRequest& request = add(Method::kTransfer, true);
  EXPECT_TRUE(fence_waits());
  EXPECT_TRUE(request.work_failed());
  EXPECT_TRUE(request.is_replay());
  InFlightRequests::moved_to_main(request);
  InFlightRequests::moved_to_main(request);  // changes nothing
  EXPECT_FALSE(fence_waits()) << "the queue pair orders it now";
  EXPECT_EQ(completed(), 0u);
  EXPECT_TRUE(request.work_posted());
  EXPECT_TRUE(requests.work_completed(request));
  EXPECT_FALSE(requests.work_completed(request));
  EXPECT_EQ(completed(), 1u);
}

// Whatever it was, and wherever it was, nothing waits for it afterwards.
TEST_F(InFlightRequestsTest, AnAbandonedRequestLeavesNothingBehind) {
  using Steps = std::vector<Event>;
  const std::vector<std::pair<Method, Steps>> cases = {
      {Method::kTransfer, {}},       {Method::kTransfer, {kFail}},
      {Method::kDeviceAtomic, {}},   {Method::kDeviceAtomic, {kFail}},
      {Method::kCompareSwap, {}},    {Method::kCompareSwap, {kStep}},
      {Method::kOwner, {}},          {Method::kOwner, {kFail}},
      {Method::kOwner, {kComplete}}, {Method::kOwner, {kComplete, kReplyLost}},
      {Method::kStagingSlot, {}},    {Method::kStagingSlot, {kComplete}},
  };
  for (const bool apart : {false, true}) {
    for (const auto& [method, steps] : cases) {
      if (apart && method != Method::kTransfer) continue;  // only pieces go by other rails
      SCOPED_TRACE(static_cast<int>(method));
      InFlightRequest& request = add(method, apart);
      for (const Event step : steps) step(request);
      EXPECT_TRUE(requests.abandon(request));
      EXPECT_FALSE(requests.abandon(request)) << "once";
      EXPECT_FALSE(requests.work_completed(request));
      EXPECT_FALSE(requests.replied(request, false));
      EXPECT_FALSE(fence_waits());
      EXPECT_FALSE(connection.outstanding.has_compare_swaps());
      completed();
      EXPECT_TRUE(requests.is_empty());
    }
  }
  for (int i = 0; i < InFlightRequests::kMostReplies; ++i) {
    EXPECT_TRUE(requests.has_room_for_reply());
    add(Method::kOwner);
  }
}

TEST_F(InFlightRequestsTest, AnAbandonedReadWaitsForNoReply) {
  InFlightRequest& request = add(Method::kStagingSlot);
  ASSERT_TRUE(requests.replied(request, true));
  ASSERT_TRUE(request.read_delayed());
  EXPECT_TRUE(requests.abandon(request));
  EXPECT_FALSE(fence_waits());
  add(Method::kOwner);
  EXPECT_TRUE(fence_waits()) << "a reply too many was taken away";
}

}  // namespace
}  // namespace weft::ib
