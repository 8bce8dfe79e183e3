#include "bootstrap/tcp/id_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <weft/runtime.hpp>

#include "tests/support/status.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "00112233445566778899aabbccddeeff";

TEST(IdText, ComesBackAsItWas) {
  for (const char* host : {"127.0.0.1", "node7", "::1"}) {
    IdText id;
    id.address = {host, 4711};
    id.secret = *random_bits();
    id.npes = 12;
    const auto back = parse_id_text(to_string(id));
    ASSERT_OK(back);
    EXPECT_EQ(back->address.host, host);
    EXPECT_EQ(back->address.port, 4711);
    EXPECT_EQ(back->secret, id.secret);
    EXPECT_EQ(back->npes, 12);
  }
}

TEST(IdText, SaysWhichPartIsWrongAndKeepsTheSecret) {
  const std::string secret = kSecret;
  const struct {
    std::string text;
    const char* complaint;
    Code code = Code::kInvalidArgument;
  } cases[] = {
      {"", "it is empty"},
      {"hello", "starts with \"hello\" instead of weft1"},
      {"weft1", "ends after weft1"},
      {"weft2:host:1:" + secret + ":4", "form weft2 but this Weft reads weft1",
       Code::kVersionMismatch},
      {"weftx:host:1:" + secret + ":4", "starts with \"weftx\""},
      {"weft1:host:1:" + secret, "number of PEs"},
      {"weft1:host:1:" + secret + ":", "the number of PEs, \"\""},
      {"weft1:host:1:" + secret + ":0", "the number of PEs, \"0\""},
      {"weft1:host:1:" + secret + ":4 ", "the number of PEs, \"4 \""},
      {"weft1:host:1:" + secret + ":9999999999", "the number of PEs"},
      {"weft1:4", "it has no number of PEs"},
      {"weft1:host:4", "it has no secret"},
      {"weft1:host:1:0011:4", "4 characters instead of 32"},
      {"weft1:host:1:" + secret.substr(0, 31) + "G:4", "character 32 of the secret"},
      {"weft1:host:99999:" + secret + ":4", "port \"99999\""},
      {"weft1:host:" + secret + ":4", "no \":port\""},
      {"weft1::1:" + secret + ":4", "no host"},
  };
  for (const auto& wrong : cases) {
    const auto id = parse_id_text(wrong.text);
    EXPECT_CODE(id, wrong.code) << wrong.text;
    const std::string text(id.status().text());
    EXPECT_THAT(text, HasSubstr(wrong.complaint)) << wrong.text;
    EXPECT_THAT(text, Not(HasSubstr(secret.substr(0, 31)))) << "a log must not carry the secret";
  }
}

TEST(Secret, IsComparedAsAWhole) {
  const Secret secret = *random_bits();
  EXPECT_TRUE(same_secret(secret, Secret(secret)));
  for (std::size_t i = 0; i < secret.size(); ++i) {
    Secret other = secret;
    other[i] ^= std::byte{0x10};
    EXPECT_FALSE(same_secret(secret, other)) << i;
  }
  EXPECT_FALSE(same_secret(*random_bits(), *random_bits()));
}

TEST(UniqueId, ItsTextIsReadBackAndChecked) {
  const auto id = UniqueId::create(3);
  ASSERT_OK(id);
  EXPECT_THAT(id->text(), HasSubstr("weft1:127.0.0.1:"));
  const auto again = UniqueId::parse(id->text());
  ASSERT_OK(again);
  EXPECT_EQ(again->text(), id->text());
  EXPECT_CODE(UniqueId::parse(id->text() + "0x"), Code::kInvalidArgument);
  EXPECT_CODE(UniqueId::create(0), Code::kInvalidArgument);
}

TEST(UniqueId, ThatOfAJobOfUnknownSizeSaysSo) {
  const auto id = UniqueId::create();
  ASSERT_OK(id);
  EXPECT_EQ(id->text().substr(id->text().size() - 2), ":*");
  ASSERT_OK(UniqueId::parse(id->text()));
  EXPECT_EQ(parse_id_text(id->text())->npes, 0);
}

TEST(UniqueId, APortInUseNamesItAndTheOptionToChange) {
  const auto first = UniqueId::create(2);
  ASSERT_OK(first);
  Options options;
  options.bind_port = parse_id_text(first->text())->address.port;
  const auto second = UniqueId::create(2, options);
  EXPECT_CODE(second, Code::kIo);
  for (const std::string& part : {std::string("127.0.0.1"), std::to_string(options.bind_port),
                                  std::string("in use"), std::string("WEFT_BIND_PORT")}) {
    EXPECT_THAT(std::string(second.status().text()), HasSubstr(part));
  }
}

TEST(UniqueId, AnAddressThatIsNotOursNamesTheOption) {
  Options options;
  options.bind_address = "192.0.2.1";
  const auto id = UniqueId::create(2, options);
  EXPECT_CODE(id, Code::kIo);
  EXPECT_THAT(std::string(id.status().text()), HasSubstr("WEFT_BIND_ADDRESS"));
}

TEST(UniqueId, ForAllAddressesItsTextHoldsOneThatOthersCanCall) {
  Options options;
  options.bind_address = "0.0.0.0";
  const auto id = UniqueId::create(2, options);
  ASSERT_OK(id);
  EXPECT_THAT(id->text(), Not(HasSubstr("0.0.0.0")));
}

TEST(UniqueId, ListensOnTheNetworkThatIsAskedFor) {
  Options options;
  options.bootstrap_interface = "127.0.0.0/8";
  options.bind_address = "192.0.2.1";
  const auto id = UniqueId::create(2, options);
  ASSERT_OK(id);
  EXPECT_THAT(id->text(), HasSubstr("weft1:127.0.0.1:"));
  options.bootstrap_interface = "no_such0";
  const auto none = UniqueId::create(2, options);
  EXPECT_CODE(none, Code::kInvalidArgument);
  for (const char* part : {"WEFT_BOOTSTRAP_INTERFACE", "no_such0", "127.0.0.1"}) {
    EXPECT_THAT(std::string(none.status().text()), HasSubstr(part));
  }
}

}  // namespace
}  // namespace weft
