#include "src/net/frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/net/wire.hpp"
#include "tests/support/random.hpp"
#include "tests/support/status.hpp"

namespace weft::net {
namespace {

using ::testing::HasSubstr;

std::vector<Frame> take_all(FrameDecoder& decoder) {
  std::vector<Frame> frames;
  while (auto frame = decoder.next()) frames.push_back(std::move(*frame));
  return frames;
}

Bytes of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

// The layout is a promise between processes: it is written down here byte by byte.
TEST(Frame, HasTheDocumentedBytes) {
  Bytes expected = of("weft");
  for (const int b : {4, 3, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0}) {
    expected.push_back(static_cast<std::byte>(b));
  }
  expected.push_back(std::byte{'h'});
  expected.push_back(std::byte{'i'});
  EXPECT_EQ(encode_frame(0x01020304, of("hi")), expected);
}

TEST(FrameDecoder, GivesTheFramesBackWhateverThePieces) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 200; ++round) {
    std::vector<Frame> sent;
    Bytes stream;
    for (auto count = random() % 8; count > 0; --count) {
      constexpr std::size_t kSizes[] = {0, 1, 15, 16, 17, 1000};
      sent.push_back({static_cast<std::uint32_t>(random()),
                      random_bytes(random, kSizes[random() % std::size(kSizes)])});
      const Bytes bytes = encode_frame(sent.back().type, sent.back().payload);
      stream.insert(stream.end(), bytes.begin(), bytes.end());
    }
    FrameDecoder decoder(1000);
    std::vector<Frame> received;
    for (std::span<const std::byte> rest = stream; !rest.empty();) {
      const auto piece = rest.first(std::min<std::size_t>(rest.size(), 1 + random() % 40));
      ASSERT_OK(decoder.feed(piece));
      for (Frame& frame : take_all(decoder)) received.push_back(std::move(frame));
      rest = rest.subspan(piece.size());
    }
    EXPECT_FALSE(decoder.partial());
    ASSERT_EQ(received.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(received[i].type, sent[i].type);
      EXPECT_EQ(received[i].payload, sent[i].payload);
    }
  }
}

TEST(FrameDecoder, KnowsThatAFrameIsNotComplete) {
  FrameDecoder decoder(100);
  const Bytes frame = encode_frame(1, of("hello"));
  ASSERT_OK(decoder.feed(std::span(frame).first(frame.size() - 1)));
  EXPECT_TRUE(decoder.partial());
  EXPECT_FALSE(decoder.next());
  ASSERT_OK(decoder.feed(std::span(frame).last(1)));
  EXPECT_FALSE(decoder.partial());
  EXPECT_TRUE(decoder.next());
}

TEST(FrameDecoder, TurnsAStrangerAwayAtItsFirstWrongByte) {
  FrameDecoder decoder(100);
  const Status status = decoder.feed(of("wet"));
  EXPECT_CODE(status, Code::kIo);
  EXPECT_THAT(std::string(status.text()), HasSubstr("77 65 74 \"wet\""));
  EXPECT_CODE(decoder.feed(encode_frame(1, {})), Code::kIo) << "an error is final";
  EXPECT_FALSE(decoder.next());
}

TEST(FrameDecoder, RefusesLengthsAboveItsLimitBeforeThePayload) {
  for (const std::uint64_t bytes :
       {std::uint64_t{101}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    Writer header;
    header.raw(of("weft"));
    header.u32(9);
    header.u64(bytes);
    FrameDecoder decoder(100);
    const Status status = decoder.feed(header.take());
    EXPECT_CODE(status, Code::kIo);
    EXPECT_THAT(std::string(status.text()), HasSubstr(std::to_string(bytes)));
    EXPECT_THAT(std::string(status.text()), HasSubstr("type 9"));
  }
  FrameDecoder decoder(100);
  EXPECT_OK(decoder.feed(encode_frame(9, Bytes(100))));
  EXPECT_EQ(decoder.next()->payload.size(), 100u);
}

TEST(Wire, FieldsComeBackInOrder) {
  Writer out;
  out.u8(200);
  out.u32(0xfedcba98u);
  out.u64(0x0123456789abcdefu);
  out.text("PE 3");
  out.bytes(Bytes(3, std::byte{7}));
  out.text("");
  const auto bytes = out.take();
  Reader in(bytes);
  EXPECT_EQ(in.u8(), 200);
  EXPECT_EQ(in.u32(), 0xfedcba98u);
  EXPECT_EQ(in.u64(), 0x0123456789abcdefu);
  EXPECT_EQ(in.text(), "PE 3");
  EXPECT_EQ(in.bytes().size(), 3u);
  EXPECT_EQ(in.text(), "");
  EXPECT_TRUE(in.complete());
}

TEST(Wire, NothingIsReadBeyondTheEnd) {
  Writer out;
  out.u32(5);
  out.text("four");
  const auto bytes = out.take();
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    // A copy of its own, so that AddressSanitizer sees a read past it.
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut));
    Reader in(part);
    (void)in.u32();
    EXPECT_EQ(in.text(), "") << cut;
    EXPECT_FALSE(in.good());
    EXPECT_FALSE(in.complete());
  }
  Reader early(bytes);
  (void)early.u32();
  EXPECT_TRUE(early.good());
  EXPECT_FALSE(early.complete()) << "bytes are left over";
}

TEST(Wire, ALengthLargerThanTheRestIsNoText) {
  Writer out;
  out.u64(~std::uint64_t{0});
  out.u8(1);
  const auto bytes = out.take();
  Reader in(bytes);
  EXPECT_EQ(in.text(), "");
  EXPECT_FALSE(in.good());
}

}  // namespace
}  // namespace weft::net
