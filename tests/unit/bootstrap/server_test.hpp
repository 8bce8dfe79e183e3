// A rendezvous server, PEs that come to it, and connections that speak to it by hand.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/version.hpp>

#include "bootstrap/tcp/server.hpp"
#include "tests/support/status.hpp"

namespace weft::tcp {

using Made = Result<std::unique_ptr<Bootstrap>>;

inline std::string text_of(const Made& made) { return std::string(made.status().text()); }

class ServerTest : public ::testing::Test {
 protected:
  void start(std::optional<int> npes, double timeout_s = 60) {
    options_.start_timeout = timeout_s;
    auto server = Server::start(npes, options_);
    ASSERT_OK(server);
    server_ = std::move(*server);
    id_ = *parse_id_text(server_->id_text());
  }

  Made join(int pe) { return make_tcp_bootstrap(server_->id_text(), pe, id_.npes, options_); }

  // The PEs 0..n-1 come, meet and leave, as if nothing had happened.
  void expect_good_job() {
    std::vector<std::thread> pes;
    for (int pe = 0; pe < id_.npes; ++pe) {
      pes.emplace_back([this, pe] {
        Made made = join(pe);
        ASSERT_OK(made);
        EXPECT_OK((*made)->barrier());
        EXPECT_OK((*made)->leave());
      });
    }
    for (auto& pe : pes) pe.join();
  }

  // The one PE of a job comes to where `answer` stands in for the rendezvous point.
  void join_impostor(IdText& id, std::optional<Made>& made,
                     const std::function<void(net::Accepted)>& answer) {
    auto listener = net::listen_at("127.0.0.1", 0);
    ASSERT_OK(listener);
    id.address = *net::local_address(listener->get());
    id.npes = 1;
    std::thread impostor([&] {
      ASSERT_OK(net::wait_for(listener->get(), POLLIN, Deadline(30), "a caller"));
      auto caller = net::accept_one(listener->get());
      ASSERT_OK(caller);
      answer(std::move(*caller));
    });
    made.emplace(make_tcp_bootstrap(to_string(id), 0, 1, options_));
    impostor.join();
  }

  net::Channel call_up() {
    auto socket = net::connect_to(id_.address, Deadline(30));
    EXPECT_OK(socket);
    return net::Channel(std::move(*socket), net::to_string(id_.address), 1 << 20);
  }

  static Hello good_hello() { return {kProtocol, WEFT_VERSION, *random_bits()}; }
  Join good_join(int pe = 0) const { return {pe, id_.npes, {1, "test"}, {}}; }

  static void send(net::Channel& channel, Message message, const net::Bytes& payload) {
    channel.queue(std::make_shared<const net::Bytes>(
        net::encode_frame(static_cast<std::uint32_t>(message), payload)));
    ASSERT_OK(channel.flush());
  }

  static net::Frame expect(net::Channel& channel, Message message) {
    auto frame = channel.receive(Deadline(30), "an answer");
    EXPECT_OK(frame);
    if (!frame) return {};
    EXPECT_EQ(frame->type, static_cast<std::uint32_t>(message));
    return std::move(*frame);
  }

  void send_hello(net::Channel& channel, const Hello& hello) {
    send(channel, Message::kHello, seal(id_.secret, kHelloSeal, {hello.nonce, {}}, encode(hello)));
  }

  // A PE by hand, up to its join; what it says may be sealed with another secret.
  void send_join(net::Channel& channel, const Join& join, const Secret& secret) {
    const Hello hello = good_hello();
    send_hello(channel, hello);
    const auto challenge = decode_challenge(expect(channel, Message::kChallenge).payload);
    ASSERT_OK(challenge);
    send(channel, Message::kJoin, seal(secret, kJoinSeal, {hello.nonce, *challenge}, encode(join)));
  }
  net::Channel join_by_hand(int pe) {
    net::Channel channel = call_up();
    send_join(channel, good_join(pe), id_.secret);
    expect(channel, Message::kAccepted);
    return channel;
  }

  // The server's answer to this hello, or to this join.
  Status refusal_of(const Hello& hello) {
    net::Channel channel = call_up();
    send_hello(channel, hello);
    return decode_status(expect(channel, Message::kFailed).payload);
  }
  Status refusal_of(const Join& join) { return refusal_of(join, id_.secret); }
  Status refusal_of(const Join& join, const Secret& secret) {
    net::Channel channel = call_up();
    send_join(channel, join, secret);
    return decode_status(expect(channel, Message::kFailed).payload);
  }

  static void expect_hung_up(net::Channel& channel) {
    EXPECT_CODE(channel.receive(Deadline(30), "the end"), Code::kPeerLost);
  }

  Options options_;
  std::unique_ptr<Server> server_;
  IdText id_;
};

}  // namespace weft::tcp
