// Connection: its queue pairs over the fake library, and the transitions of its state.
#include "host/transport/ib/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/transport/ib_two_pes.hpp"

namespace weft::ib {
namespace {

using ::testing::HasSubstr;
using ConnectionTest = test::IbTwoPesTest;

TEST_F(ConnectionTest, IsMadeOnceWithAPathByEachRail) {
  EXPECT_EQ(connections->find(1), nullptr);
  Connection& connection = connections->to(1);
  EXPECT_EQ(&connections->to(1), &connection);
  EXPECT_EQ(connections->find(1), &connection);
  EXPECT_EQ(connections->find(0), nullptr);
  ASSERT_EQ(connection.paths().size(), 2u);
  for (std::size_t rail = 0; rail < 2; ++rail) EXPECT_EQ(connection.paths()[rail]->rail(), rail);
  EXPECT_OK(connections->open());  // changes nothing
  EXPECT_EQ(connections->find(1), &connection);
  int count = 0;
  connections->for_each([&](Connection& each) { count += each.pe(); });
  EXPECT_EQ(count, 1);
}

TEST_F(ConnectionTest, IsBusyUntilTheOtherEndAnswers) {
  Connection& connection = connections->to(1);
  EXPECT_CODE(connection.main().make_ready(), Code::kBusy);
  EXPECT_EQ(connection.main().state(), QueuePair::State::kAsks);
  answer();
  EXPECT_OK(connect(connection.main()));
  EXPECT_EQ(connection.main().state(), QueuePair::State::kReady);
  EXPECT_OK(connection.main().make_ready());
}

TEST_F(ConnectionTest, AReplyToAnotherQueuePairChangesNothing) {
  QueuePair& path = connections->to(1).main();
  EXPECT_CODE(path.make_ready(), Code::kBusy);
  EXPECT_OK(path.replied({.kind = ConnectMessage::Kind::kReply, .asked = 0xffffff}));
  EXPECT_OK(path.replied({.kind = ConnectMessage::Kind::kReject, .asked = 0xffffff}));
  EXPECT_EQ(path.state(), QueuePair::State::kAsks);
  EXPECT_CODE(path.make_ready(), Code::kBusy);
}

TEST_F(ConnectionTest, ARefusalIsAnError) {
  answer();
  QueuePair& path = connections->to(1).main();
  std::vector<std::pair<ConnectMessage, std::size_t>> replies;
  while (replies.empty()) {
    ASSERT_TRUE(path.make_ready().is(Code::kBusy));
    replies = mine.take_replies();
  }
  replies.front().first.kind = ConnectMessage::Kind::kReject;
  EXPECT_OK(path.replied(replies.front().first));
  const Status refused = path.make_ready();
  EXPECT_CODE(refused, Code::kPeerLost);
  EXPECT_THAT(refused.text(), HasSubstr("could not make a queue pair"));
}

TEST_F(ConnectionTest, WithoutAnAnswerItEndsWithAnError) {
  env->connect_timeout = 1e-9;
  QueuePair& path = connections->to(1).main();
  Status ready = path.make_ready();
  while (ready.is(Code::kBusy)) ready = path.make_ready();
  EXPECT_CODE(ready, Code::kPeerLost);
  EXPECT_THAT(ready.text(), HasSubstr("did not answer"));
}

TEST_F(ConnectionTest, APathThatWasBrokenOffConnectsNoMore) {
  QueuePair& path = connections->to(1).main();
  path.break_off();
  EXPECT_EQ(path.state(), QueuePair::State::kBroken);
  EXPECT_CODE(path.make_ready(), Code::kPeerLost);
}

TEST_F(ConnectionTest, PiecesGoByTheRailsInTurn) {
  Connection& connection = connections->to(1);
  const std::size_t first = connection.main().rail();
  for (const std::size_t turn : {1u, 2u, 3u, 4u})
    EXPECT_EQ(connection.next_path().rail(), (first + turn) % 2);
  EXPECT_EQ(connection.main().rail(), first);
}

TEST_F(ConnectionTest, AConnectedPathIsPreferredThenTheMainOne) {
  answer();
  Connection& connection = connections->to(1);
  QueuePair& main = connection.main();
  QueuePair& other = *connection.paths()[1 - main.rail()];
  EXPECT_EQ(connection.find_usable(), &main);
  ASSERT_OK(connect(other));
  EXPECT_EQ(connection.find_usable(), &other);
  ASSERT_OK(connect(main));
  EXPECT_EQ(connection.find_usable(), &main);
  main.break_off();
  EXPECT_EQ(connection.find_usable(), &other);
  other.break_off();
  EXPECT_EQ(connection.find_usable(), nullptr);
}

TEST_F(ConnectionTest, OfPathsThatAreNotConnectedTheMainOneIsPreferred) {
  Connection& connection = connections->to(1);
  for (const std::size_t main : {1u, 0u}) {
    connection.begin_failover(*connection.paths()[1 - main], *connection.paths()[main]);
    EXPECT_EQ(connection.find_usable(), connection.paths()[main].get());
  }
}

TEST_F(ConnectionTest, FailsOverAndGoesOn) {
  Connection& connection = connections->to(1);
  QueuePair& failed = connection.main();
  QueuePair& next = *connection.paths()[1 - failed.rail()];
  EXPECT_OK(connection.check());
  EXPECT_FALSE(connection.end_failover());
  EXPECT_TRUE(connection.begin_failover(failed, next));
  EXPECT_EQ(&connection.main(), &next);
  EXPECT_CODE(connection.check(), Code::kBusy);
  EXPECT_FALSE(connection.begin_failover(failed, next)) << "it fails over already";
  EXPECT_TRUE(connection.end_failover());
  EXPECT_FALSE(connection.end_failover());
  EXPECT_OK(connection.check());
  EXPECT_EQ(&connection.main(), &next);
}

TEST_F(ConnectionTest, FailsOnceAndNamesWhatHadFailedBefore) {
  Connection& connection = connections->to(1);
  QueuePair& failed = connection.main();
  QueuePair& next = *connection.paths()[1 - failed.rail()];
  ASSERT_TRUE(connection.begin_failover(failed, next));
  EXPECT_TRUE(connection.fail(Status::error(Code::kPeerLost, "first")));
  EXPECT_FALSE(connection.fail(Status::error(Code::kIo, "second")));
  EXPECT_FALSE(connection.begin_failover(next, failed));
  EXPECT_FALSE(connection.end_failover());
  EXPECT_EQ(&connection.main(), &next);
  EXPECT_CODE(connection.check(), Code::kPeerLost);
  EXPECT_EQ(std::string(connection.failure().text()),
            "first; " + failed.describe() + " had failed before");
}

}  // namespace
}  // namespace weft::ib
