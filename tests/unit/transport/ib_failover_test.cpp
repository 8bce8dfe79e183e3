// Failover: what becomes of requests, and connections of two rails of which one or both fail.
#include "host/transport/ib/failover.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/transport/ib/atomic_emulation.hpp"
#include "tests/unit/transport/ib_two_pes.hpp"

namespace weft::ib {
namespace {

using ::testing::HasSubstr;
using Fate = QueuePair::Fate;
using Kind = Verdict::Kind;
constexpr std::array kFates = {Fate::kDone, Fate::kNotDone, Fate::kUnknown};

InFlightRequest request_of(Method method, OpKind kind, RequestState state) {
  return {.op = {.kind = kind, .width = 8}, .method = method, .state = state};
}

// --- judge ---------------------------------------------------------------------------------------

TEST(Judge, PutsThatHaveTakenEffectAreNotRepeated) {
  const auto put = request_of(Method::kTransfer, OpKind::kPut, RequestState::kPosted);
  EXPECT_EQ(judge(put, Fate::kDone, false).kind, Kind::kComplete);
  EXPECT_EQ(judge(put, Fate::kNotDone, false).kind, Kind::kReplay);
  EXPECT_EQ(judge(put, Fate::kUnknown, false).kind, Kind::kReplay);
}

TEST(Judge, BytesOfAGetHaveNotComeThoughTheyWereRead) {
  const auto get = request_of(Method::kTransfer, OpKind::kGet, RequestState::kPosted);
  for (const Fate fate : kFates) EXPECT_EQ(judge(get, fate, false).kind, Kind::kReplay);
}

TEST(Judge, ReadsOutOfAStagingSlotAreRepeated) {
  const auto read = request_of(Method::kStagingSlot, OpKind::kGet, RequestState::kReading);
  for (const Fate fate : kFates) EXPECT_EQ(judge(read, fate, true).kind, Kind::kReplay);
}

TEST(Judge, RequestsToTheOwnerWaitOrGoAgain) {
  for (const Method method : {Method::kOwner, Method::kStagingSlot}) {
    const auto asked = request_of(method, OpKind::kPut, RequestState::kRequested);
    EXPECT_EQ(judge(asked, Fate::kDone, false).kind, Kind::kComplete);
    EXPECT_EQ(judge(asked, Fate::kNotDone, false).kind, Kind::kReplay);
    EXPECT_EQ(judge(asked, Fate::kUnknown, false).kind, Kind::kReplay);
    const auto answered = request_of(method, OpKind::kPut, RequestState::kPosted);
    for (const Fate fate : kFates) EXPECT_EQ(judge(answered, fate, false).kind, Kind::kComplete);
  }
}

TEST(Judge, AtomicsOfTheDeviceAreNeverExecutedTwice) {
  const auto state = RequestState::kPosted;
  for (const OpKind kind : {OpKind::kAmoAdd, OpKind::kAmoFetchAdd, OpKind::kAmoCompareSwap}) {
    const auto atomic = request_of(Method::kDeviceAtomic, kind, state);
    const bool fetches = is_fetching(kind);
    EXPECT_EQ(judge(atomic, Fate::kDone, false).kind, fetches ? Kind::kLost : Kind::kComplete);
    EXPECT_EQ(judge(atomic, Fate::kNotDone, false).kind, Kind::kReplay);
    EXPECT_EQ(judge(atomic, Fate::kUnknown, false).kind, Kind::kLost);
    EXPECT_EQ(judge(atomic, Fate::kNotDone, true).kind, Kind::kLost) << "no other port may";
    EXPECT_EQ(judge(atomic, Fate::kDone, true).kind, fetches ? Kind::kLost : Kind::kComplete);
  }
  const auto loop = request_of(Method::kCompareSwap, OpKind::kAmoSet, state);
  for (const Fate fate : kFates) EXPECT_EQ(judge(loop, fate, true).kind, Kind::kLost);
}

TEST(Judge, WhatIsLostSaysWhy) {
  const auto fetch = request_of(Method::kDeviceAtomic, OpKind::kAmoFetch, RequestState::kPosted);
  const auto loop = request_of(Method::kCompareSwap, OpKind::kAmoSet, RequestState::kPosted);
  EXPECT_EQ(judge(fetch, Fate::kDone, false).why,
            "the device has executed it, but the old value is lost");
  EXPECT_EQ(judge(fetch, Fate::kUnknown, false).why, "the device may have executed it or not");
  EXPECT_THAT(std::string(judge(fetch, Fate::kNotDone, true).why),
              HasSubstr("it has not been executed"));
  EXPECT_EQ(judge(loop, Fate::kDone, true).why, "the device may have changed the word or not");
}

// --- connections ---------------------------------------------------------------------------------

class FailoverTest : public test::IbTwoPesTest {
 protected:
  void SetUp() override {
    IbTwoPesTest::SetUp();
    connection = &connections->to(1);
    first = &connection->main();
    second = connection->paths()[1 - first->rail()].get();
    memory.emplace(*env);
    sender.emplace(*memory);
    failover.emplace(*env, requests, *memory, *sender);
  }
  // Puts a value into a word of the other PE's.
  Status put(std::uint64_t word, const std::uint64_t& value, bool held = false) {
    InFlightRequest request{.op = {.bytes = sizeof value,
                                   .remote = word * sizeof value,
                                   .local = address_of(&value),
                                   .pe = 1,
                                   .kind = OpKind::kPut},
                            .connection = connection,
                            .path = &connection->main()};
    RETURN_IF_ERROR(sender->find_target(request));
    RETURN_IF_ERROR(memory->take(request));
    const std::uint64_t number = requests.next();
    InFlightRequest& posted = requests.add(request);
    sender->post(posted, number);
    if (!held) failover->ring(*connection, *request.path);
    return Status::ok();
  }
  // As a lane makes progress.
  void progress() {
    for (const auto& port : connections->ports()) {
      ibv_wc done;
      while (ibv_poll_cq(port->done.get(), 1, &done) == 1) take(*port->by_qp.at(done.qp_num), done);
    }
    for (const auto& [reply, rail] : mine.take_replies()) {
      if (reply.kind == ConnectMessage::Kind::kDisconnected)
        failover->ended(*connection, *connection->paths()[reply.rail], reply);
      else
        EXPECT_OK(connection->paths()[rail]->replied(reply));
    }
    failover->progress();
    requests.retire();
  }
  void take(QueuePair& path, const ibv_wc& done) {
    if (path.state() != QueuePair::State::kReady || done.wr_id >= LanePort::kAnswers) return;
    if (done.status != IBV_WC_SUCCESS)
      return failover->fail(*connection, path, Status::error(Code::kPeerLost, "the cable"));
    path.complete(done.wr_id,
                  [&](std::uint64_t number) { requests.work_completed(requests[number]); });
  }
  Status lost() { return Status::error(Code::kPeerLost, "lost"); }

  InFlightRequests requests;
  Connection* connection = nullptr;
  QueuePair *first = nullptr, *second = nullptr;
  std::optional<RequestMemory> memory;
  std::optional<Sender> sender;
  std::optional<Failover> failover;
};

TEST_F(FailoverTest, GoesOnByTheOtherPath) {
  failover->fail(*connection, *first, lost());
  EXPECT_EQ(connection->state(), Connection::State::kFailingOver);
  EXPECT_EQ(&connection->main(), second);
  EXPECT_EQ(first->state(), QueuePair::State::kBroken);
  failover->fail(*connection, *first, lost());  // it was known
  EXPECT_EQ(&connection->main(), second);
  EXPECT_CODE(failover->make_ready(*connection), Code::kBusy);
  answer();
  while (connection->state() == Connection::State::kFailingOver) progress();
  EXPECT_EQ(connection->state(), Connection::State::kOpen);
  EXPECT_OK(failover->make_ready(*connection));
  EXPECT_OK(requests.take_failure());
}

TEST_F(FailoverTest, WithoutAPathLeftTheConnectionFailsWithItsRequests) {
  requests.add({.op = {.pe = 1, .kind = OpKind::kPut}, .connection = connection, .path = first})
      .work_posted();
  failover->fail(*connection, *first, lost());
  EXPECT_OK(requests.take_failure());
  failover->fail(*connection, *second, lost());
  EXPECT_EQ(connection->state(), Connection::State::kFailed);
  EXPECT_TRUE(requests[0].is_done());
  requests.retire();
  EXPECT_EQ(requests.completed(), 0u) << "its failure is not known yet";
  const Status failure = requests.take_failure();
  EXPECT_CODE(failure, Code::kPeerLost);
  EXPECT_THAT(failure.text(), HasSubstr(first->describe() + " had failed before"));
  requests.retire();
  EXPECT_EQ(requests.completed(), 1u);
  EXPECT_CODE(failover->make_ready(*connection), Code::kPeerLost);
  failover->break_off(*connection, lost());  // once
  EXPECT_OK(requests.take_failure());
}

TEST_F(FailoverTest, AConnectionWithoutRequestsFailsSilently) {
  failover->break_off(*connection, lost());
  EXPECT_OK(requests.take_failure());
  EXPECT_CODE(connection->check(), Code::kPeerLost);
}

// The first port is lost at the nth of eight puts, which then still takes effect or does not.
class ReplayTest : public FailoverTest,
                   public ::testing::WithParamInterface<std::tuple<std::size_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(EveryMoment, ReplayTest,
                         ::testing::Combine(::testing::Range<std::size_t>(1, 9),
                                            ::testing::Bool()));

TEST_P(ReplayTest, PutsKeepTheirOrderAndNoneIsLost) {
  answer();
  ASSERT_OK(connect(*first));
  ASSERT_OK(connect(*second));
  const auto [nth, takes_effect] = GetParam();
  fake_verbs_cut_after(static_cast<int>(first->rail()), nth, takes_effect);
  const std::array<std::uint64_t, 4> values = {1, 2, 3, 4};
  // To one word, of which the last must win, and each to a word of its own.
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const std::size_t word : {std::size_t{0}, 1 + i}) {
      while (connection->state() != Connection::State::kOpen) progress();
      ASSERT_OK(put(word, values[i]));
    }
  }
  while (connection->state() == Connection::State::kOpen && &connection->main() == first)
    progress();
  EXPECT_EQ(&connection->main(), second);
  while (!requests.is_empty() || connection->state() != Connection::State::kOpen) progress();
  EXPECT_EQ(requests.completed(), 2 * values.size());
  EXPECT_OK(requests.take_failure());
  EXPECT_EQ(theirs.words[0], values.back());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(theirs.words[1 + i], values[i]);
  ASSERT_OK(put(0, values[0]));  // and it goes on
  while (!requests.is_empty()) progress();
  EXPECT_EQ(theirs.words[0], values[0]);
}

TEST_F(FailoverTest, WorkThatIsHeldIsReplayedToo) {
  answer();
  ASSERT_OK(connect(*first));
  ASSERT_OK(connect(*second));
  const std::uint64_t value = 9;
  ASSERT_OK(put(3, value, true));
  EXPECT_EQ(sender->holding(), first);
  failover->fail(*connection, *first, lost());
  EXPECT_EQ(sender->holding(), nullptr);
  while (!requests.is_empty()) progress();
  EXPECT_EQ(theirs.words[3], value);
  EXPECT_OK(requests.take_failure());
}

// The reply may have been lost with the path, so the owner is asked again, by its sequence number.
TEST_F(FailoverTest, ARequestThatAwaitsItsReplyGoesAgainWithoutItsBytes) {
  answer();
  ASSERT_OK(connect(*first));
  ASSERT_OK(connect(*second));
  InFlightRequest& request = requests.add({.op = {.pe = 1, .kind = OpKind::kAmoSet, .width = 4},
                                           .connection = connection,
                                           .path = first,
                                           .method = Method::kOwner});
  request.work_posted();
  ASSERT_TRUE(requests.work_completed(request));
  ASSERT_EQ(request.state, RequestState::kAwaitingReply);
  failover->fail(*connection, *first, lost());
  while (connection->state() == Connection::State::kFailingOver) progress();
  EXPECT_TRUE(request.bytes_there);
  EXPECT_EQ(request.path, second);
  EXPECT_EQ(request.sequence, 1u);
  while (request.work > 0) progress();
  EXPECT_EQ(request.state, RequestState::kAwaitingReply);
  EXPECT_TRUE(requests.replied(request, false));
  progress();
  EXPECT_EQ(requests.completed(), 1u);
}

TEST_F(FailoverTest, AReplayIntoMemoryThatIsGoneFailsThatRequestOnly) {
  answer();
  ASSERT_OK(connect(*second));
  for (const std::uint64_t offset : {std::uint64_t{1} << 40, std::uint64_t{0}}) {
    InFlightRequest& request =
        requests.add({.op = {.bytes = 8, .remote = offset, .pe = 1, .kind = OpKind::kPut},
                      .connection = connection,
                      .path = first,
                      .is_small = true});
    request.work_posted();
    ASSERT_TRUE(request.work_failed());
  }
  failover->fail(*connection, *first, lost());
  while (connection->state() == Connection::State::kFailingOver) progress();
  while (!requests[1].is_done()) progress();
  const Status failure = requests.take_failure();
  EXPECT_CODE(failure, Code::kOutOfRange);
  EXPECT_THAT(failure.text(), HasSubstr("is no longer"));
  progress();
  EXPECT_EQ(requests.completed(), 2u);
}

TEST_F(FailoverTest, ALostAtomicFailsAloneAndIsReportedOnce) {
  InFlightRequest& request = requests.add({.op = {.pe = 1, .kind = OpKind::kAmoSet, .width = 8},
                                           .connection = connection,
                                           .path = first,
                                           .method = Method::kCompareSwap});
  request.work_posted();
  failover->lose(request, "for a reason");
  EXPECT_TRUE(request.is_done());
  EXPECT_FALSE(connection->outstanding.has_compare_swaps());
  const Status failure = requests.take_failure();
  EXPECT_CODE(failure, Code::kPeerLost);
  EXPECT_THAT(failure.text(), HasSubstr("failed while it was under way; for a reason"));
  EXPECT_EQ(connection->state(), Connection::State::kOpen);
}

// With WEFT_IB_ATOMICS=nic.
TEST_F(FailoverTest, AtomicsOfTheOwnersDeviceGoByTheFirstRailOnly) {
  const AtomicEmulation emulation(true);
  const InFlightRequest request{.op = {.remote = 64, .pe = 1, .kind = OpKind::kAmoSet, .width = 8},
                                .connection = connection,
                                .path = first,
                                .method = Method::kCompareSwap};
  connection->begin_failover(*connection->paths()[1], *connection->paths()[0]);
  EXPECT_OK(emulation.check(request, requests));
  connection->begin_failover(*connection->paths()[0], *connection->paths()[1]);
  EXPECT_CODE(emulation.check(request, requests), Code::kPeerLost);
  EXPECT_OK(AtomicEmulation(false).check(request, requests));
}

TEST_F(FailoverTest, AtomicsOnAWordWhoseLoopGoesOnWait) {
  const AtomicEmulation emulation(true);
  connection->begin_failover(*connection->paths()[1], *connection->paths()[0]);
  InFlightRequest request{.op = {.remote = 64, .pe = 1, .kind = OpKind::kAmoSet, .width = 8},
                          .connection = connection,
                          .path = first,
                          .method = Method::kCompareSwap};
  InFlightRequest& loop = requests.add(request);
  EXPECT_CODE(emulation.check(request, requests), Code::kBusy);
  request.op.remote = 72;
  EXPECT_OK(emulation.check(request, requests)) << "another word";
  requests.add(request);
  request.op.remote = 64;
  ASSERT_TRUE(requests.abandon(loop));
  EXPECT_OK(emulation.check(request, requests)) << "that loop is over, the other goes on";
}

}  // namespace
}  // namespace weft::ib
