// Sockets and channels over the loopback interface, v4 and v6.
#include "src/net/channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Pair {
  Channel client, server;
};

class ChannelTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto listener = listen_at(GetParam(), 0);
    if (!listener) GTEST_SKIP() << "no " << GetParam() << " here: " << listener.status().text();
    listener_ = std::move(*listener);
    address_ = *local_address(listener_.get());
  }

  Pair connect(std::uint64_t most = 1 << 20) {
    auto client = connect_to(address_, Deadline(30));
    EXPECT_OK(client);
    EXPECT_OK(wait_for(listener_.get(), POLLIN, Deadline(30), "a caller"));
    auto accepted = accept_one(listener_.get());
    EXPECT_OK(accepted);
    return {Channel(std::move(*client), to_string(address_), most),
            Channel(std::move(accepted->socket), accepted->peer, most)};
  }

  static void send(Channel& channel, std::uint32_t type, const Bytes& payload) {
    channel.queue(std::make_shared<const Bytes>(encode_frame(type, payload)));
    Status status;
    while ((status = channel.flush()).is(Code::kBusy)) std::this_thread::yield();
    EXPECT_OK(status);
  }

  UniqueFd listener_;
  Address address_;
};

TEST_P(ChannelTest, BothEndsSendSmallFramesAtOnceAndNoticeADeadHost) {
  const Pair pair = connect();
  for (const int fd : {pair.client.fd(), pair.server.fd()}) {
    for (const auto& [level, name] :
         {std::pair<int, int>(IPPROTO_TCP, TCP_NODELAY), {SOL_SOCKET, SO_KEEPALIVE}}) {
      int value = 0;
      socklen_t size = sizeof value;
      ASSERT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
      EXPECT_EQ(value, 1) << level << " " << name;
    }
    int idle_s = 0;
    socklen_t size = sizeof idle_s;
    ASSERT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, &size), 0);
    EXPECT_EQ(idle_s, 20);
  }
}

TEST_P(ChannelTest, CarriesFramesOfAnySizeBothWays) {
  std::mt19937_64 random(test_seed());
  Pair pair = connect(8 << 20);
  for (const std::size_t size : {0u, 1u, 16383u, 16384u, 16385u, 5'000'001u}) {
    const Bytes sent = random_bytes(random, size);
    std::thread sender([&] { send(pair.client, 7, sent); });
    auto there = pair.server.receive(Deadline(60), "a frame");
    sender.join();
    ASSERT_OK(there);
    EXPECT_EQ(there->type, 7u);
    EXPECT_EQ(there->payload, sent);
    std::thread back([&] { send(pair.server, 8, sent); });
    auto here = pair.client.receive(Deadline(60), "a frame");
    back.join();
    ASSERT_OK(here);
    EXPECT_EQ(here->payload, sent);
  }
}

TEST_P(ChannelTest, SurvivesTheShortestReadsAndWrites) {
  Pair pair = connect();
  const Bytes frame = encode_frame(3, Bytes(50, std::byte{9}));
  for (const std::byte b : frame) {
    ASSERT_EQ(::send(pair.client.fd(), &b, 1, 0), 1);
    ASSERT_OK(wait_for(pair.server.fd(), POLLIN, Deadline(30), "a byte"));
    ASSERT_OK(pair.server.fill());
  }
  const auto received = pair.server.next();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->payload, Bytes(50, std::byte{9}));
  EXPECT_CODE(pair.server.fill(), Code::kBusy);
}

TEST_P(ChannelTest, AFullSocketIsBusyAndLosesNothing) {
  Pair pair = connect(1 << 20);
  const auto frame = std::make_shared<const Bytes>(encode_frame(1, Bytes(1 << 20, std::byte{5})));
  int queued = 0;
  do {
    pair.client.queue(frame);
    ++queued;
  } while (pair.client.flush().is_ok());
  EXPECT_FALSE(pair.client.flushed());
  for (int received = 0; received < queued;) {
    while (pair.server.next()) ++received;
    const Status status = pair.server.fill();
    ASSERT_TRUE(status.is_ok() || status.is(Code::kBusy)) << status.to_string();
    const Status sent = pair.client.flush();
    ASSERT_TRUE(sent.is_ok() || sent.is(Code::kBusy)) << sent.to_string();
  }
  EXPECT_TRUE(pair.client.flushed());
}

TEST_P(ChannelTest, AWaitEndsAtItsDeadlineAndSaysForWhatAndWhom) {
  Pair pair = connect();
  const auto frame = pair.client.receive(Deadline(0.05), "a welcome");
  EXPECT_CODE(frame, Code::kTimeout);
  EXPECT_THAT(std::string(frame.status().text()),
              AllOf(HasSubstr("a welcome"), HasSubstr(to_string(address_)), HasSubstr("waited")));
}

TEST_P(ChannelTest, TheEndOfTheOtherSideIsLostNotSilence) {
  {
    Pair pair = connect();
    pair.server = Channel(UniqueFd(), "", 0);
    const auto frame = pair.client.receive(Deadline(30), "a frame");
    EXPECT_CODE(frame, Code::kPeerLost);
    EXPECT_THAT(std::string(frame.status().text()), HasSubstr(to_string(address_)));
  }
  {
    Pair pair = connect();
    const Bytes frame = encode_frame(3, Bytes(50));
    ASSERT_EQ(::send(pair.server.fd(), frame.data(), 20, 0), 20);
    pair.server = Channel(UniqueFd(), "", 0);
    const auto received = pair.client.receive(Deadline(30), "a frame");
    EXPECT_CODE(received, Code::kPeerLost);
    EXPECT_THAT(std::string(received.status().text()), HasSubstr("in the middle of a frame"));
  }
}

// Without MSG_NOSIGNAL this test would end the program.
TEST_P(ChannelTest, SendingToNobodyIsAnErrorNotASignal) {
  Pair pair = connect();
  pair.server = Channel(UniqueFd(), "", 0);
  Status status;
  do {
    pair.client.queue(std::make_shared<const Bytes>(encode_frame(1, Bytes(1000))));
    status = pair.client.flush();
  } while (status.is_ok());
  EXPECT_CODE(status, Code::kPeerLost);
}

TEST_P(ChannelTest, ARefusedConnectionIsAnErrorAtOnceWithTheAddress) {
  listener_.reset();
  const auto socket = connect_to(address_, Deadline(300));
  EXPECT_CODE(socket, Code::kIo);
  EXPECT_THAT(std::string(socket.status().text()),
              AllOf(HasSubstr(to_string(address_)), HasSubstr("refused")));
}

TEST_P(ChannelTest, APortInUseIsAnErrorThatNamesIt) {
  const auto second = listen_at(GetParam(), address_.port);
  EXPECT_CODE(second, Code::kIo);
  EXPECT_THAT(
      std::string(second.status().text()),
      AllOf(HasSubstr(GetParam()), HasSubstr(std::to_string(address_.port)), HasSubstr("in use")));
}

INSTANTIATE_TEST_SUITE_P(Loopback, ChannelTest, ::testing::Values("127.0.0.1", "::1"),
                         [](const auto& info) { return info.index == 0 ? "v4" : "v6"; });

TEST(Connect, AHostThatDoesNotExistIsNamed) {
  const auto socket = connect_to({"no-such-host.invalid", 80}, Deadline(0.2));
  ASSERT_FALSE(socket);
  EXPECT_THAT(std::string(socket.status().text()), HasSubstr("no-such-host.invalid"));
}

TEST(Accept, NobodyAtTheDoorIsBusy) {
  const auto listener = listen_at("127.0.0.1", 0);
  ASSERT_OK(listener);
  EXPECT_CODE(accept_one(listener->get()), Code::kBusy);
}

TEST(Listen, AnAddressOfAnotherHostIsAnError) {
  const auto listener = listen_at("192.0.2.1", 0);
  EXPECT_CODE(listener, Code::kIo);
  EXPECT_THAT(std::string(listener.status().text()), HasSubstr("192.0.2.1"));
}

}  // namespace
}  // namespace weft::net
