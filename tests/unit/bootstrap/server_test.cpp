// The rendezvous server against PEs that are wrong, late, strange or dead.
#include "tests/unit/bootstrap/server_test.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include <weft/runtime.hpp>

#include "bootstrap/tcp/neighbours.hpp"
#include "tests/support/random.hpp"

namespace weft::tcp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(ServerTest, TheSamePesMayMeetAgainAfterTheyHaveLeft) {
  start(3);
  for (int job = 0; job < 20; ++job) expect_good_job();
}

TEST_F(ServerTest, TheFirstPeMaySayHowManyThereAre) {
  start(std::nullopt);
  id_.npes = 3;  // what the PEs of this test say
  for (int job = 0; job < 3; ++job) expect_good_job();
  Join other = good_join(1);
  other.npes = 4;
  const Status status = refusal_of(other);
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()), AllOf(HasSubstr("has 4 PEs"), HasSubstr("said 3")));
}

TEST_F(ServerTest, ANumberThatCannotBeIsNotTaken) {
  start(std::nullopt);
  Join none = good_join();
  none.npes = 0;
  EXPECT_CODE(refusal_of(none), Code::kInvalidArgument);
  id_.npes = 2;
  expect_good_job();
}

TEST_F(ServerTest, ManyPesMeetAndGather) {
  start(100);
  std::vector<std::thread> pes;
  for (int pe = 0; pe < id_.npes; ++pe) {
    pes.emplace_back([this, pe] {
      const Made made = join(pe);
      ASSERT_OK(made);
      for (int call = 1; call <= 3; ++call) {
        const auto gathered = (*made)->allgather(Blob(static_cast<std::size_t>(pe * call)));
        ASSERT_OK(gathered);
        for (int each = 0; each < id_.npes; ++each) {
          EXPECT_EQ(gathered->at(each).size(), static_cast<std::size_t>(each * call));
        }
      }
      EXPECT_OK((*made)->leave());
    });
  }
  for (auto& pe : pes) pe.join();
}

TEST_F(ServerTest, PesMeetOverIpv6) {
  options_.bind_address = "::1";
  if (auto listener = net::listen_at("::1", 0); !listener) {
    GTEST_SKIP() << "no IPv6 here: " << listener.status().text();
  }
  start(3);
  EXPECT_THAT(server_->id_text(), HasSubstr("weft1:[::1]:"));
  expect_good_job();
}

TEST_F(ServerTest, AWrongSecretIsRefusedToThatPeAlone) {
  start(2);
  const Status status = refusal_of(good_join(), *random_bits());
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()), HasSubstr("secret of another job"));
  expect_good_job();
}

// A message that somebody on the wire has recorded is of no use on another connection.
TEST_F(ServerTest, ARecordedJoinIsRefused) {
  start(2);
  const Hello hello = good_hello();
  net::Bytes join;
  for (int visit = 0; visit < 2; ++visit) {
    net::Channel channel = call_up();
    send_hello(channel, hello);
    const auto challenge = decode_challenge(expect(channel, Message::kChallenge).payload);
    ASSERT_OK(challenge);
    if (visit == 0) {
      join = seal(id_.secret, kJoinSeal, {hello.nonce, *challenge}, encode(good_join()));
      continue;  // it hangs up; the wire has kept its words
    }
    send(channel, Message::kJoin, join);
    EXPECT_CODE(decode_status(expect(channel, Message::kFailed).payload), Code::kInvalidArgument);
  }
  expect_good_job();
}

TEST_F(ServerTest, WhoeverAnswersWithoutTheSecretIsNotBelieved) {
  IdText id;
  std::optional<Made> made;
  join_impostor(id, made, [](net::Accepted caller) {
    net::Channel channel(std::move(caller.socket), caller.peer, 1 << 20);
    expect(channel, Message::kHello);
    send(channel, Message::kChallenge, encode_challenge(*random_bits()));
    expect(channel, Message::kJoin);
    send(channel, Message::kAccepted,
         seal(*random_bits(), kAcceptedSeal, {}, encode(Accepted{1, {1, "nowhere"}})));
    channel.receive(Deadline(30), "the end").status().ignore();
  });
  ASSERT_TRUE(made);
  EXPECT_CODE(*made, Code::kInvalidArgument);
  EXPECT_THAT(text_of(*made), AllOf(HasSubstr(net::to_string(id.address)),
                                    HasSubstr("not the job's rendezvous point")));
}

TEST_F(ServerTest, AnotherNumberOfPesIsRefusedWithBothNumbers) {
  start(2);
  Join join = good_join();
  join.npes = 5;
  const Status status = refusal_of(join);
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()),
              AllOf(HasSubstr("has 5 PEs"), HasSubstr("made for 2"), HasSubstr("WEFT_NPES=2")));
  const Made made = make_tcp_bootstrap(server_->id_text(), 0, 5, options_);
  EXPECT_CODE(made, Code::kInvalidArgument);
  EXPECT_THAT(text_of(made), AllOf(HasSubstr("5 PEs"), HasSubstr("made for 2")));
  expect_good_job();
}

TEST_F(ServerTest, AnotherVersionIsRefusedWithBothVersions) {
  start(2);
  Hello version = good_hello();
  version.version = "0.0.0-old";
  Hello protocol = good_hello();
  protocol.protocol = 77;
  for (const Hello& hello : {version, protocol}) {
    const Status status = refusal_of(hello);
    EXPECT_CODE(status, Code::kVersionMismatch);
    EXPECT_THAT(std::string(status.text()),
                AllOf(HasSubstr(hello.version), HasSubstr(WEFT_VERSION),
                      HasSubstr(std::to_string(hello.protocol)), HasSubstr("same Weft")));
  }
  expect_good_job();
}

TEST_F(ServerTest, ASecondProcessWithTheSamePeIsRefusedAndTheFirstGoesOn) {
  start(2);
  net::Channel first = join_by_hand(1);
  const Made second = join(1);
  EXPECT_CODE(second, Code::kInvalidArgument);
  EXPECT_THAT(text_of(second), AllOf(HasSubstr("PE 1 is taken"), HasSubstr("pid 1 on test")));
  const Made other = join(0);
  ASSERT_OK(other);
  expect(first, Message::kStart);
}

TEST_F(ServerTest, APeOutsideTheJobIsRefused) {
  start(2);
  EXPECT_CODE(join(2), Code::kOutOfRange);
  EXPECT_CODE(join(-1), Code::kOutOfRange);
  EXPECT_CODE(refusal_of(good_join(2)), Code::kOutOfRange);
  expect_good_job();
}

TEST_F(ServerTest, StrangersDisturbNobody) {
  start(2);
  std::mt19937_64 random(test_seed());
  std::vector<net::Channel> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(call_up());
    net::Bytes garbage = random_bytes(random, random() % 300);
    if (i % 4 == 1) {
      const auto http = std::as_bytes(std::span(std::string_view("GET / HTTP/1.1\r\n\r\n")));
      garbage.assign(http.begin(), http.end());
    } else if (i % 4 == 2) {  // a frame that announces more than a hello may have
      garbage = net::encode_frame(1, net::Bytes(5000));
    } else if (i % 4 == 3) {  // a member's message from nobody
      garbage = net::encode_frame(static_cast<std::uint32_t>(Message::kAbort),
                                  encode(Abort{1, "by a stranger"}));
    }
    (void)!::send(strangers.back().fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  expect_good_job();
  for (std::size_t i = 1; i < strangers.size(); i += 4) expect_hung_up(strangers[i]);
  for (std::size_t i = 2; i < strangers.size(); i += 4) expect_hung_up(strangers[i]);
  for (std::size_t i = 3; i < strangers.size(); i += 4) expect_hung_up(strangers[i]);
  EXPECT_OK(server_->failure());
}

TEST_F(ServerTest, SilentStrangersAreLetGoAndKeepNobodyOut) {
  start(2);
  std::vector<net::Channel> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(call_up());
  expect_good_job();
  expect_hung_up(silent.front());
}

// A PE's own listener, where its neighbours come: PE 1 is played by hand, and knows where that is.
TEST_F(ServerTest, StrangersAtAPesDoorDisturbNobody) {
  start(2);
  Neighbours by_hand;
  ASSERT_OK(by_hand.open(id_.secret, 1, 2, "127.0.0.1"));
  net::Channel channel = call_up();
  Join mine = good_join(1);
  mine.contact = by_hand.contact();
  send_join(channel, mine, id_.secret);
  std::thread other([this] {
    const Made made = join(0);
    ASSERT_OK(made);
    const auto gathered = (*made)->allgather(Blob(3));
    ASSERT_OK(gathered);
    EXPECT_EQ(gathered->at(1), Blob(5));
    EXPECT_OK((*made)->leave());
  });
  expect(channel, Message::kAccepted);
  auto contacts = decode_start(expect(channel, Message::kStart).payload);
  ASSERT_OK(contacts);
  ASSERT_EQ(contacts->size(), 1u);
  const Contact listener = contacts->front();

  std::vector<net::Channel> strangers;
  for (int i = 0; i < 90; ++i) {
    auto socket = net::connect_to(listener.address, Deadline(30));
    ASSERT_OK(socket);
    strangers.emplace_back(std::move(*socket), "PE 0", 1 << 20);
  }
  (void)!::send(strangers[80].fd(), "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL);
  const Handshake false_handshake{1, *random_bits()};
  const Nonces nonces{false_handshake.nonce, listener.nonce};
  send(strangers[81], Message::kHandshake,
       seal(*random_bits(), kHandshakeSeal, nonces, encode(false_handshake)));
  const Handshake no_neighbour{0, *random_bits()};
  send(
      strangers[82], Message::kHandshake,
      seal(id_.secret, kHandshakeSeal, {no_neighbour.nonce, listener.nonce}, encode(no_neighbour)));
  send(strangers[83], Message::kBlocks, {});
  for (const int i : {0, 80, 81, 82, 83}) expect_hung_up(strangers[static_cast<std::size_t>(i)]);

  by_hand.learn(std::move(*contacts));
  const Blob five(5);
  Exchange exchange(1, 2, {Rendezvous::Call::kAllgather, 1}, five);
  Status status = Status::busy();
  for (const Deadline deadline(30); status.is(Code::kBusy) && !deadline.expired();) {
    status = by_hand.advance(exchange);
  }
  ASSERT_OK(status);
  EXPECT_EQ(exchange.gathered().at(0), Blob(3));
  send(channel, Message::kLeave, encode_leave(1));
  other.join();
}

TEST_F(ServerTest, AHelloInSinglePiecesIsUnderstood) {
  start(1);
  net::Channel channel = call_up();
  const Hello hello = good_hello();
  const net::Bytes frame =
      net::encode_frame(static_cast<std::uint32_t>(Message::kHello),
                        seal(id_.secret, kHelloSeal, {hello.nonce, {}}, encode(hello)));
  for (const std::byte b : frame) {
    ASSERT_EQ(::send(channel.fd(), &b, 1, MSG_NOSIGNAL), 1);
    std::this_thread::yield();
  }
  expect(channel, Message::kChallenge);
}

TEST_F(ServerTest, AMemberThatSpeaksNonsenseIsLost) {
  const std::vector<std::function<void(net::Channel&)>> nonsense = {
      [](net::Channel& channel) { (void)!::send(channel.fd(), "garbage", 7, MSG_NOSIGNAL); },
      [](net::Channel& channel) { send(channel, Message::kStart, {}); },
      [](net::Channel& channel) { send(channel, Message::kWaiting, net::Bytes(3)); },
      [](net::Channel& channel) { send(channel, Message::kHello, {}); },
  };
  for (const auto& speak : nonsense) {
    start(2);
    net::Channel bad = join_by_hand(1);
    Made good = join(0);
    ASSERT_OK(good);
    speak(bad);
    const Status status = (*good)->barrier();
    EXPECT_CODE(status, Code::kPeerLost);
    EXPECT_THAT(std::string(status.text()), HasSubstr("PE 1 (pid 1 on test)"));
  }
}

TEST_F(ServerTest, WhoIsMissingAtTheStartIsNamedToEverybody) {
  start(4, 0.2);
  std::vector<std::thread> pes;
  for (const int pe : {0, 1}) {
    pes.emplace_back([this, pe] {
      const Made made = join(pe);
      EXPECT_CODE(made, Code::kTimeout);
      EXPECT_THAT(text_of(made), HasSubstr("PEs 2 and 3 of 4 have not come within 0.2 s"));
    });
  }
  for (auto& pe : pes) pe.join();
  const Made late = join(2);
  EXPECT_CODE(late, Code::kTimeout);
  EXPECT_THAT(text_of(late), HasSubstr("PEs 2 and 3 of 4 have not come"));
}

TEST_F(ServerTest, AServerThatIsGoneIsNotThereForNewcomers) {
  start(2);
  const std::string id = server_->id_text();
  server_.reset();
  const Made made = make_tcp_bootstrap(id, 0, 2, options_);
  EXPECT_CODE(made, Code::kIo);
  EXPECT_THAT(text_of(made), AllOf(HasSubstr(net::to_string(id_.address)), HasSubstr("refused"),
                                   HasSubstr("must be running")));
}

TEST_F(ServerTest, SomethingElseAtTheAddressIsToldApart) {
  IdText id;
  std::optional<Made> made;
  join_impostor(id, made, [](net::Accepted caller) {
    (void)!::send(caller.socket.get(), "SSH-2.0-OpenSSH\r\n", 17, MSG_NOSIGNAL);
    net::Channel channel(std::move(caller.socket), caller.peer, 1 << 20);
    channel.receive(Deadline(30), "the end").status().ignore();  // until the caller hangs up
    channel.receive(Deadline(30), "the end").status().ignore();
  });
  ASSERT_TRUE(made);
  EXPECT_CODE(*made, Code::kIo);
  EXPECT_THAT(text_of(*made), AllOf(HasSubstr("not Weft's frames"), HasSubstr("SSH-2.0-")));
}

TEST_F(ServerTest, ASilentServerEndsAtTheDeadline) {
  auto listener = net::listen_at("127.0.0.1", 0);
  ASSERT_OK(listener);
  IdText id;
  id.address = *net::local_address(listener->get());
  id.npes = 1;
  options_.start_timeout = 0.1;
  const Made made = make_tcp_bootstrap(to_string(id), 0, 1, options_);
  EXPECT_CODE(made, Code::kTimeout);
  EXPECT_THAT(text_of(made), AllOf(HasSubstr(net::to_string(id.address)), HasSubstr("challenge")));
}

TEST_F(ServerTest, ItsEndWaitsForThoseWhoStillLeave) {
  for (int round = 0; round < 20; ++round) {
    start(4);
    std::atomic<int> joined{0};
    std::vector<std::thread> pes;
    for (int pe = 0; pe < 4; ++pe) {
      pes.emplace_back([this, &joined, pe, id = server_->id_text()] {
        Made made = make_tcp_bootstrap(id, pe, 4, options_);
        ASSERT_OK(made);
        ASSERT_OK((*made)->barrier());
        joined.fetch_add(1);
        EXPECT_OK((*made)->leave());
      });
    }
    while (joined.load() == 0) std::this_thread::yield();
    server_.reset();
    for (auto& pe : pes) pe.join();
  }
}

TEST_F(ServerTest, AUniqueIdMayGoWhileItsJobRuns) {
  auto id = UniqueId::create(1);
  ASSERT_OK(id);
  Made made = make_tcp_bootstrap(id->text(), 0, 1, options_);
  ASSERT_OK(made);
  id = UniqueId();  // the same thread is in the job: this must not wait
  EXPECT_OK((*made)->barrier());
  EXPECT_OK((*made)->leave());
}

TEST_F(ServerTest, ALauncherLearnsOfAnAbortAndOfWhoBrokeTheJob) {
  start(2);
  std::thread aborter([this] {
    Made made = join(1);
    ASSERT_OK(made);
    (*made)->abort(9, "on purpose");
  });
  const Made other = join(0);
  aborter.join();
  pollfd failed{server_->failed_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&failed, 1, 30'000), 1);
  EXPECT_EQ(server_->abort_code(), 9);
  EXPECT_EQ(server_->culprit(), 1);
  EXPECT_CODE(server_->failure(), Code::kAborted);
}

TEST_F(ServerTest, PesThatEndBehindTheirJobHaveNotFailedIt) {
  start(2);
  expect_good_job();
  EXPECT_OK(server_->ended(0, "it exited with code 0"));
  EXPECT_OK(server_->ended(1, "it exited with code 3"));
  EXPECT_OK(server_->failure());
}

TEST_F(ServerTest, ALauncherThatSeesAPeEndTellsTheOthersAtOnce) {
  start(2);
  std::thread waiting([this] {
    const Made made = join(0);
    EXPECT_CODE(made, Code::kPeerLost);
    EXPECT_THAT(text_of(made), HasSubstr("PE 1 is lost: it fell over"));
  });
  // Whether PE 0 has come already or comes later, it learns it.
  server_->ended(1, "it fell over").ignore();
  waiting.join();
  EXPECT_EQ(server_->culprit(), 1);
}

// ended() lets newcomers in on the launcher's thread, beside the serving one, which polls a set
// that does not have them yet. With a fresh server that set is as small as can be, so that a
// sanitizer sees a step beyond it.
TEST_F(ServerTest, ALauncherMayLookInWhileSomebodyComes) {
  for (int round = 0; round < 50; ++round) {
    start(2);
    net::Channel first = call_up();
    net::Channel second = call_up();
    EXPECT_OK(server_->ended(1, "it fell over"));
    const Made made = join(0);
    EXPECT_CODE(made, Code::kPeerLost);
    EXPECT_EQ(server_->culprit(), 1);
  }
}

TEST_F(ServerTest, ProgramsThatNeverJoinOweNothing) {
  start(2);
  EXPECT_OK(server_->ended(0, "it exited with code 0"));
  EXPECT_OK(server_->ended(1, "it exited with code 0"));
}

TEST_F(ServerTest, AnAllgatherThatIsTooLargeIsRefusedBeforeItIsSent) {
  start(1);
  Made made = join(0);
  ASSERT_OK(made);
  EXPECT_CODE((*made)->allgather(Blob(kMostBlobBytes + 1)), Code::kInvalidArgument);
  EXPECT_OK((*made)->barrier());
  EXPECT_OK((*made)->leave());
}

}  // namespace
}  // namespace weft::tcp
