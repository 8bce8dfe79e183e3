#include "bootstrap/pmi/message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bootstrap/pmi/kvs_launcher.hpp"
#include "tests/support/status.hpp"

namespace weft::pmi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const Message kPut{"put", {{"kvsname", "kvs_1"}, {"key", "weft-1-0"}, {"value", ".2b61=;"}}};

TEST(PmiMessage, IsWrittenAsTheProtocolsHaveIt) {
  EXPECT_EQ(encode(kPut, Form::kLine), "cmd=put kvsname=kvs_1 key=weft-1-0 value=.2b61=;\n");
  EXPECT_EQ(encode(kPut, Form::kCounted),
            "    50cmd=put;kvsname=kvs_1;key=weft-1-0;value=.2b61=;;;");
  EXPECT_EQ(encode({"finalize", {}}, Form::kCounted), "    13cmd=finalize;");
}

TEST(PmiMessage, ReadsBackWhateverThePieces) {
  for (const Form form : {Form::kLine, Form::kCounted}) {
    const std::string stream = encode(kPut, form) + encode({"finalize", {}}, form);
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
      Decoder decoder(form);
      std::vector<Message> read;
      for (std::size_t at = 0; at < stream.size(); at += piece) {
        decoder.feed(std::string_view(stream).substr(at, piece));
        for (;;) {
          auto message = decoder.next();
          ASSERT_TRUE(message) << message.status().to_string();
          if (!message->has_value()) break;
          read.push_back(**message);
        }
      }
      ASSERT_EQ(read.size(), 2u);
      EXPECT_EQ(read[0].command, "put");
      EXPECT_EQ(read[0].fields, kPut.fields);
      EXPECT_EQ(read[1].command, "finalize");
    }
  }
}

TEST(PmiMessage, LengthsMayBeFilledUpOnEitherSide) {
  for (const char* text : {"    13cmd=finalize;", "13    cmd=finalize;", "000013cmd=finalize;"}) {
    Decoder decoder(Form::kCounted);
    decoder.feed(text);
    const auto message = decoder.next();
    ASSERT_TRUE(message) << message.status().to_string();
    ASSERT_TRUE(message->has_value());
    EXPECT_EQ((*message)->command, "finalize");
  }
}

TEST(PmiMessage, TextsInALineMayHaveSpaces) {
  const auto message =
      decode("cmd=get_result rc=-1 msg=key x not found value=unknown", Form::kLine);
  ASSERT_TRUE(message);
  EXPECT_THAT(message->fields, ElementsAre(Pair("rc", "-1"), Pair("msg", "key x not found"),
                                           Pair("value", "unknown")));
  EXPECT_EQ(message->number("rc"), -1);
  EXPECT_EQ(message->text("nothing"), "");
}

TEST(PmiMessage, WhatIsNoneIsRefused) {
  for (const char* text : {"", "   ", "word", "key=value", "cmd=", "key=v cmd=put"}) {
    EXPECT_FALSE(decode(text, Form::kLine)) << text;
  }
  for (const char* text : {"", "cmd=put", "cmd=put;key", "key=value;", "cmd=;", "cmd=put;a=b;;"}) {
    EXPECT_FALSE(decode(text, Form::kCounted)) << text;
  }
  for (const char* stream : {"      cmd=put;", "-00001cmd", "1 2   cmd=put;", "GET / HTTP/1.1"}) {
    Decoder decoder(Form::kCounted);
    decoder.feed(stream);
    EXPECT_TRUE(decoder.next().status().is(Code::kIo)) << stream;
  }
}

TEST(PmiMessage, AnEndlessLineIsRefused) {
  Decoder decoder(Form::kLine);
  decoder.feed(std::string(kMostBytes, 'x'));
  EXPECT_TRUE(decoder.next());
  decoder.feed("x");
  EXPECT_THAT(decoder.next().status().to_string(), HasSubstr("too long"));
}

TEST(PmiMapping, SaysWhetherOneHostHoldsAll) {
  for (const char* one : {"(vector,(0,1,4))", "(vector,(3,1,1))", "(vector,(0,1,2),(0,1,1))"}) {
    EXPECT_TRUE(maps_to_one_host(one)) << one;
  }
  for (const char* other :
       {"", "(vector,(0,2,4))", "(vector,(0,1,4),(1,1,4))", "(vector)", "(vector,)",
        "(vector,(0,1,4)", "(vector,(0,1))", "(vector,(0,1,4)))", "anything"}) {
    EXPECT_FALSE(maps_to_one_host(other)) << other;
  }
}

}  // namespace
}  // namespace weft::pmi
