#include "bootstrap/tcp/protocol.hpp"

#include <gtest/gtest.h>

#include "src/net/wire.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::tcp {
namespace {

Hello some_hello() {
  Hello hello;
  hello.version = "1.2.3";
  hello.secret = *random_secret();
  hello.pe = 5;
  hello.npes = 9;
  hello.member = {4711, "node7"};
  return hello;
}

TEST(Protocol, MessagesComeBackAsTheyWere) {
  const Hello hello = some_hello();
  const auto hello_back = decode_hello(encode(hello));
  ASSERT_OK(hello_back);
  EXPECT_EQ(hello_back->protocol, kProtocol);
  EXPECT_EQ(hello_back->version, hello.version);
  EXPECT_EQ(hello_back->secret, hello.secret);
  EXPECT_EQ(hello_back->pe, 5);
  EXPECT_EQ(hello_back->npes, 9);
  EXPECT_EQ(hello_back->member.pid, 4711);
  EXPECT_EQ(hello_back->member.host, "node7");

  const Blob mine(100, std::byte{3});
  const net::Bytes call_bytes = encode(Call{Meeting::Call::kAllgather, 17, mine});
  const auto call = decode_call(call_bytes);
  ASSERT_OK(call);
  EXPECT_EQ(call->call, Meeting::Call::kAllgather);
  EXPECT_EQ(call->sequence, 17u);
  EXPECT_EQ(Blob(call->mine.begin(), call->mine.end()), mine);

  const auto abort = decode_abort(encode(Abort{-3, "why"}));
  ASSERT_OK(abort);
  EXPECT_EQ(abort->code, -3);
  EXPECT_EQ(abort->why, "why");

  const auto accepted = decode_accepted(encode(Accepted{1.5, {1, "a"}}));
  ASSERT_OK(accepted);
  EXPECT_DOUBLE_EQ(accepted->timeout_s, 1.5);

  const std::vector<Blob> all{Blob(3), Blob(0), Blob(70'000, std::byte{1})};
  const auto done = decode_done(encode_done(8, all), 3);
  ASSERT_OK(done);
  EXPECT_EQ(done->sequence, 8u);
  EXPECT_EQ(done->gathered, all);

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
  net::Bytes hello = encode(some_hello());
  for (std::size_t cut = 0; cut < hello.size(); ++cut) {
    const net::Bytes part(hello.begin(), hello.begin() + static_cast<std::ptrdiff_t>(cut));
    EXPECT_CODE(decode_hello(part), Code::kIo) << cut;
  }
  hello.push_back(std::byte{0});
  EXPECT_CODE(decode_hello(hello), Code::kIo);
  EXPECT_CODE(decode_call({}), Code::kIo);
  EXPECT_CODE(decode_abort({}), Code::kIo);
  EXPECT_CODE(decode_accepted({}), Code::kIo);
  EXPECT_CODE(decode_done({}, 2), Code::kIo);
  EXPECT_CODE(decode_status({}), Code::kIo);
}

TEST(Protocol, ValuesThatDoNotExistAreMalformed) {
  for (const int kind : {0, 3, 4, 255}) {
    const auto bytes = encode(Call{static_cast<Meeting::Call>(kind), 1, {}});
    EXPECT_CODE(decode_call(bytes), Code::kIo) << kind;
  }
  net::Writer unknown_code;
  unknown_code.u8(200);
  unknown_code.text("?");
  EXPECT_CODE(decode_status(unknown_code.take()), Code::kIo);
  EXPECT_CODE(decode_done(encode_done(1, std::vector<Blob>(3)), 4), Code::kIo);
}

// A count or length that promises more than the message holds must not be believed.
TEST(Protocol, AnnouncedSizesAreNotBelieved) {
  net::Writer out;
  out.u64(1);
  out.u32(1048576);
  EXPECT_CODE(decode_done(out.take(), 1048576), Code::kIo);
}

}  // namespace
}  // namespace weft::tcp
