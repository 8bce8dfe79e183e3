#include "bootstrap/tcp/protocol.hpp"

#include <gtest/gtest.h>

#include "src/net/wire.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::tcp {
namespace {

Join some_join() { return {5, 9, {4711, "node7"}, {{"fe80::1%eth0", 4712}, *random_bits()}}; }

TEST(Protocol, MessagesComeBackAsTheyWere) {
  const Hello hello{kProtocol, "1.2.3", *random_bits()};
  const auto hello_back = decode_hello(encode(hello));
  ASSERT_OK(hello_back);
  EXPECT_EQ(hello_back->protocol, kProtocol);
  EXPECT_EQ(hello_back->version, hello.version);
  EXPECT_EQ(hello_back->nonce, hello.nonce);

  const Join join = some_join();
  const auto join_back = decode_join(encode(join));
  ASSERT_OK(join_back);
  EXPECT_EQ(join_back->pe, 5);
  EXPECT_EQ(join_back->npes, 9);
  EXPECT_EQ(join_back->member.pid, 4711);
  EXPECT_EQ(join_back->member.host, "node7");
  EXPECT_EQ(join_back->contact.address.host, "fe80::1%eth0");
  EXPECT_EQ(join_back->contact.address.port, 4712);
  EXPECT_EQ(join_back->contact.nonce, join.contact.nonce);

  const auto call = decode_call(encode(Call{Rendezvous::Call::kAllgather, 17}));
  ASSERT_OK(call);
  EXPECT_EQ(call->call, Rendezvous::Call::kAllgather);
  EXPECT_EQ(call->sequence, 17u);

  const auto handshake = decode_handshake(encode(Handshake{3, hello.nonce}));
  ASSERT_OK(handshake);
  EXPECT_EQ(handshake->pe, 3);
  EXPECT_EQ(handshake->nonce, hello.nonce);

  const auto nonce = decode_challenge(encode_challenge(hello.nonce));
  ASSERT_OK(nonce);
  EXPECT_EQ(*nonce, hello.nonce);

  const auto calls = decode_leave(encode_leave(12));
  ASSERT_OK(calls);
  EXPECT_EQ(*calls, 12u);

  const auto contacts = decode_start(encode_start({join.contact, {{"10.0.0.1", 1}, {}}}));
  ASSERT_OK(contacts);
  ASSERT_EQ(contacts->size(), 2u);
  EXPECT_EQ(contacts->front().nonce, join.contact.nonce);
  EXPECT_EQ(contacts->back().address.host, "10.0.0.1");

  const auto abort = decode_abort(encode(Abort{-3, "why"}));
  ASSERT_OK(abort);
  EXPECT_EQ(abort->code, -3);
  EXPECT_EQ(abort->why, "why");

  const auto accepted = decode_accepted(encode(Accepted{1.5, {1, "a"}}));
  ASSERT_OK(accepted);
  EXPECT_DOUBLE_EQ(accepted->timeout_s, 1.5);

  const Status status = decode_status(encode(Status::error(Code::kPeerLost, "PE 2")));
  EXPECT_CODE(status, Code::kPeerLost);
  EXPECT_STREQ(status.text(), "PE 2");
  EXPECT_OK(decode_status(encode(Status::ok())));
}

TEST(Protocol, AHelloOfAnotherVersionTellsItsVersionWhateverElseIsInIt) {
  net::Writer out;
  out.u32(kProtocol + 1);
  out.text("9.9.9");
  out.text("fields that we do not know");
  const auto hello = decode_hello(out.take());
  ASSERT_OK(hello);
  EXPECT_EQ(hello->protocol, kProtocol + 1);
  EXPECT_EQ(hello->version, "9.9.9");
}

TEST(Protocol, WhatIsCutOrTooLongIsMalformed) {
  net::Bytes join = encode(some_join());
  for (std::size_t cut = 0; cut < join.size(); ++cut) {
    const net::Bytes part(join.begin(), join.begin() + static_cast<std::ptrdiff_t>(cut));
    EXPECT_CODE(decode_join(part), Code::kIo) << cut;
  }
  join.push_back(std::byte{0});
  EXPECT_CODE(decode_join(join), Code::kIo);
  EXPECT_CODE(decode_hello({}), Code::kIo);
  EXPECT_CODE(decode_call({}), Code::kIo);
  EXPECT_CODE(decode_abort({}), Code::kIo);
  EXPECT_CODE(decode_accepted({}), Code::kIo);
  EXPECT_CODE(decode_handshake({}), Code::kIo);
  EXPECT_CODE(decode_challenge({}), Code::kIo);
  EXPECT_CODE(decode_leave({}), Code::kIo);
  EXPECT_CODE(decode_start(net::Bytes(5)), Code::kIo);
  EXPECT_CODE(decode_status({}), Code::kIo);
}

TEST(Protocol, ValuesThatDoNotExistAreMalformed) {
  for (const int kind : {0, 3, 4, 255}) {
    const auto bytes = encode(Call{static_cast<Rendezvous::Call>(kind), 1});
    EXPECT_CODE(decode_call(bytes), Code::kIo) << kind;
  }
  net::Writer unknown_code;
  unknown_code.u8(200);
  unknown_code.text("?");
  EXPECT_CODE(decode_status(unknown_code.take()), Code::kIo);
}

// A length that promises more than the message holds must not be believed.
TEST(Protocol, AnnouncedSizesAreNotBelieved) {
  net::Writer out;
  out.u64(std::uint64_t{1} << 60);
  EXPECT_CODE(decode_start(out.take()), Code::kIo);
}

}  // namespace
}  // namespace weft::tcp
