// Strangers at the rendezvous server and at PEs' listeners: what they may take is bounded, and no
// job ends for them. The attacks are bounded in count, so that a server that yields to them fails.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <span>
#include <thread>

#include "bootstrap/tcp/neighbours.hpp"
#include "src/base/log_limit.hpp"
#include "tests/unit/bootstrap/server_test.hpp"

namespace weft::tcp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using StrangersTest = ServerTest;

UniqueFd caller(const net::Address& address) {
  auto socket = net::connect_to(address, Deadline(30));
  EXPECT_OK(socket);
  return socket ? std::move(*socket) : UniqueFd();
}

// Whether the other side reads on: it takes far more than sockets hold.
bool is_read(const net::Channel& channel) {
  constexpr std::size_t kMuch = std::size_t{64} << 20;
  const net::Bytes frame = net::encode_frame(77, net::Bytes(4000));
  for (std::size_t sent = 0; sent < kMuch;) {
    const auto rest = std::span(frame).subspan(sent % frame.size());
    const ssize_t n = ::send(channel.fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno != EAGAIN ||
               !net::wait_for(channel.fd(), POLLOUT, Deadline(0.3), "room").is_ok()) {
      return false;
    }
  }
  return true;
}

// In front of a listener: drops the first connections, and passes on what the next one says.
class Dropper {
 public:
  Dropper(net::Address to, int drops) : to_(std::move(to)), drops_(drops) {
    auto listener = net::listen_at("127.0.0.1", 0);
    EXPECT_OK(listener);
    listener_ = std::move(*listener);
    address_ = *net::local_address(listener_.get());
    thread_ = std::thread([this] { run(); });
  }
  ~Dropper() {
    stop_ = true;
    thread_.join();
  }
  const net::Address& address() const { return address_; }
  int accepted() const { return accepted_; }

 private:
  void run() {
    std::vector<std::pair<UniqueFd, UniqueFd>> pairs;
    while (!stop_) {
      std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
      for (const auto& [a, b] : pairs) {
        polled.push_back({a.get(), POLLIN, 0});
        polled.push_back({b.get(), POLLIN, 0});
      }
      ::poll(polled.data(), polled.size(), 10);
      for (const auto& [a, b] : pairs) {
        pump(a.get(), b.get());
        pump(b.get(), a.get());
      }
      auto caller_here = net::accept_one(listener_.get());
      if (!caller_here || ++accepted_ <= drops_) continue;
      pairs.emplace_back(std::move(caller_here->socket), caller(to_));
    }
  }
  static void pump(int from, int to) {
    char piece[4096];
    const ssize_t n = ::recv(from, piece, sizeof piece, MSG_DONTWAIT);
    if (n > 0) EXPECT_EQ(::send(to, piece, static_cast<std::size_t>(n), MSG_NOSIGNAL), n);
    if (n == 0) ::shutdown(to, SHUT_WR);
  }

  const net::Address to_;
  const int drops_;
  net::Address address_;
  UniqueFd listener_;
  std::atomic<int> accepted_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void expect_bounded(const Server& server) {
  const Server::Load load = server.load();
  EXPECT_LE(load.most_accepted, Server::kMostAccepts);
  EXPECT_LE(load.most_strangers, Server::kMostStrangers);
  EXPECT_LE(load.most_bytes, net::Channel::kMostPiece);
  EXPECT_OK(server.failure());
}

TEST_F(StrangersTest, WhatARefusedStrangerSaysIsNotRead) {
  start(2);
  net::Channel refused = call_up();
  const Hello hello = good_hello();
  send(refused, Message::kHello,
       seal(*random_bits(), kHelloSeal, {hello.nonce, {}}, encode(hello)));
  expect(refused, Message::kFailed);
  EXPECT_FALSE(is_read(refused));
  expect_good_job();
  expect_bounded(*server_);
  EXPECT_OK(server_->ended(0, "it has left"));  // and a launcher gets its turn
}

TEST_F(StrangersTest, WhatAPeSaysAfterItLeftIsNotRead) {
  start(1);
  net::Channel left = join_by_hand(0);
  expect(left, Message::kStart);
  send(left, Message::kLeave, encode_leave(0));
  expect(left, Message::kLeft);
  EXPECT_FALSE(is_read(left));
  for (int job = 0; job < 3; ++job) expect_good_job();
  expect_bounded(*server_);
}

// A member may say much as well, but the others, and a launcher, have their turns.
TEST_F(StrangersTest, AMemberThatTalksIsReadInPieces) {
  start(2);
  net::Channel member = join_by_hand(1);
  const Made other = join(0);
  ASSERT_OK(other);
  const net::Bytes frame = net::encode_frame(static_cast<std::uint32_t>(Message::kWaiting),
                                             encode(Call{Rendezvous::Call::kBarrier, 1}));
  net::Bytes many;
  for (int i = 0; i < 100'000; ++i) many.insert(many.end(), frame.begin(), frame.end());
  for (std::size_t sent = 0; sent < many.size();) {
    const ssize_t n = ::send(member.fd(), many.data() + sent, many.size() - sent, MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n < 0) {
      ASSERT_EQ(errno, EAGAIN);
      ASSERT_OK(net::wait_for(member.fd(), POLLOUT, Deadline(30), "the server to read"));
    }
  }
  while (server_->load().rounds < many.size() / net::Channel::kMostPiece) std::this_thread::yield();
  expect_bounded(*server_);
}

TEST_F(StrangersTest, AFloodOfConnectionsKeepsNobodyOut) {
  start(3);
  std::vector<std::thread> attackers;
  for (int i = 0; i < 3; ++i) {
    attackers.emplace_back([this, i] {
      for (int n = 0; n < 3000; ++n) {
        const UniqueFd socket = caller(id_.address);
        if (i == 1) (void)!::send(socket.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
        if (i == 2) (void)!::send(socket.get(), "weft", 4, MSG_NOSIGNAL);
      }
    });
  }
  for (int job = 0; job < 10; ++job) expect_good_job();
  for (auto& attacker : attackers) attacker.join();
  expect_good_job();
  expect_bounded(*server_);
  EXPECT_GT(server_->load().accepted, 1000u);
}

TEST_F(StrangersTest, ManyThatHoldTheirConnectionsKeepNobodyOut) {
  start(2);
  std::vector<UniqueFd> held;
  for (int i = 0; i < 700; ++i) held.push_back(caller(id_.address));
  expect_good_job();
  expect_bounded(*server_);
}

TEST_F(StrangersTest, AStartedHandshakeDoesNotEndForNewerStrangers) {
  start(2);
  net::Channel pe = call_up();
  const Hello hello = good_hello();
  send_hello(pe, hello);
  const auto challenge = decode_challenge(expect(pe, Message::kChallenge).payload);
  ASSERT_OK(challenge);
  std::vector<UniqueFd> held;
  for (int i = 0; i < 700; ++i) held.push_back(caller(id_.address));
  while (server_->load().accepted < 701) std::this_thread::yield();
  send(pe, Message::kJoin,
       seal(id_.secret, kJoinSeal, {hello.nonce, *challenge}, encode(good_join(1))));
  expect(pe, Message::kAccepted);
  expect_bounded(*server_);
}

TEST_F(StrangersTest, ADroppedPeComesAgain) {
  start(1);
  const Dropper dropper(id_.address, 5);
  IdText id = id_;
  id.address = dropper.address();
  const Made made = make_tcp_bootstrap(to_string(id), 0, 1, options_);
  ASSERT_OK(made);
  EXPECT_EQ(dropper.accepted(), 6);
  EXPECT_OK((*made)->leave());
}

TEST_F(StrangersTest, APeThatIsAlwaysDroppedSaysSo) {
  start(1);
  const Dropper dropper(id_.address, 1'000'000);
  IdText id = id_;
  id.address = dropper.address();
  options_.start_timeout = 0.3;
  const Made made = make_tcp_bootstrap(to_string(id), 0, 1, options_);
  EXPECT_CODE(made, Code::kTimeout);
  EXPECT_THAT(text_of(made),
              AllOf(HasSubstr(net::to_string(id.address)), HasSubstr("dropped each time"),
                    HasSubstr("strangers"), HasSubstr("WEFT_START_TIMEOUT")));
}

// PE 1 of two, without a thread or a process of its own.
class ByHand {
 public:
  ByHand(const IdText& id, int drops) {
    EXPECT_OK(neighbours_.open(id.secret, 1, 2, "127.0.0.1"));
    dropper_.emplace(neighbours_.contact().address, drops);
  }
  // Where PE 0 is told that it is.
  Contact contact() const { return {dropper_->address(), neighbours_.contact().nonce}; }
  void learn(std::vector<Contact> contacts) { neighbours_.learn(std::move(contacts)); }
  const Neighbours& neighbours() const { return neighbours_; }

  void barrier(std::uint64_t sequence) {
    Exchange exchange(1, 2, {Rendezvous::Call::kBarrier, sequence}, {});
    Status status = Status::busy();
    for (const Deadline deadline(60); status.is(Code::kBusy) && !deadline.expired();) {
      status = neighbours_.advance(exchange);
      EXPECT_LE(neighbours_.strangers(), Neighbours::kMostStrangers);
      std::this_thread::yield();
    }
    EXPECT_OK(status);
  }

 private:
  Neighbours neighbours_;
  std::optional<Dropper> dropper_;
};

class NeighboursTest : public ServerTest {
 protected:
  // PE 0 makes two barriers with PE 1, which drops so many of its connections.
  void begin(int drops) {
    start(2);
    pe_1_.emplace(id_, drops);
    channel_.emplace(call_up());
    Join join = good_join(1);
    join.contact = pe_1_->contact();
    pe_0_ = std::thread([this] {
      const Made made = ServerTest::join(0);
      ASSERT_OK(made);
      EXPECT_OK((*made)->barrier());
      EXPECT_OK((*made)->barrier());
      EXPECT_OK((*made)->leave());
    });
    send_join(*channel_, join, id_.secret);
    expect(*channel_, Message::kAccepted);
    auto contacts = decode_start(expect(*channel_, Message::kStart).payload);
    ASSERT_OK(contacts);
    pe_0_listens_ = contacts->front();
    pe_1_->learn(std::move(*contacts));
  }
  void end() {
    pe_1_->barrier(2);
    send(*channel_, Message::kLeave, encode_leave(2));
    pe_0_.join();
  }

  std::optional<ByHand> pe_1_;
  std::optional<net::Channel> channel_;
  Contact pe_0_listens_;
  std::thread pe_0_;
};

TEST_F(NeighboursTest, APeThatIsDroppedByItsNeighbourComesAgain) {
  begin(12);
  pe_1_->barrier(1);
  end();
}

TEST_F(NeighboursTest, AFloodKeepsNeighboursFromNothing) {
  begin(0);
  std::vector<UniqueFd> held;
  for (int i = 0; i < 300; ++i) held.push_back(caller(pe_0_listens_.address));
  for (int i = 0; i < 300; ++i) held.push_back(caller(pe_1_->neighbours().contact().address));
  pe_1_->barrier(1);
  end();
}

TEST_F(NeighboursTest, NobodyCanComeAfterTheFirstExchange) {
  begin(0);
  EXPECT_TRUE(pe_1_->neighbours().listens());
  pe_1_->barrier(1);
  EXPECT_FALSE(pe_1_->neighbours().listens());
  EXPECT_EQ(pe_1_->neighbours().strangers(), 0u);
  // PE 0, which waits in its next barrier, refuses connections from now on.
  while (net::connect_to(pe_0_listens_.address, Deadline(30))) std::this_thread::yield();
  end();
}

TEST(LogLimit, SaysTheFirstAndCountsTheOthers) {
  LogLimit limit(1000);
  EXPECT_EQ(limit.pass(), "");
  for (int i = 0; i < 17; ++i) EXPECT_EQ(limit.pass(), std::nullopt);
  LogLimit quick(0.01);
  EXPECT_EQ(quick.pass(), "");
  int left_out = 0;
  std::optional<std::string> more;
  while (!(more = quick.pass())) ++left_out;
  EXPECT_EQ(*more,
            left_out == 0 ? "" : fmt::format(" (and {} more since the last such line)", left_out));
}

}  // namespace
}  // namespace weft::tcp
