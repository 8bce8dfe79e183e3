#include "src/net/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status.hpp"

namespace weft::net {
namespace {

using ::testing::HasSubstr;

TEST(Address, ReadsWhatUsersWriteAndWritesItBack) {
  for (const char* text :
       {"127.0.0.1:4711", "node7.cluster:1", "[::1]:65535", "[fe80::1%eth0]:80"}) {
    const auto address = parse_address(text);
    ASSERT_OK(address);
    EXPECT_EQ(to_string(*address), text);
  }
  EXPECT_EQ(parse_address("[::1]:80")->host, "::1");
}

TEST(Address, SaysWhatIsWrongWithIt) {
  const struct {
    const char *text, *complaint;
  } cases[] = {
      {"", "has no \":port\""},
      {"localhost", "has no \":port\""},
      {"host:", "port \"\""},
      {"host:0", "port \"0\""},
      {"host:65536", "port \"65536\""},
      {"host:80x", "port \"80x\""},
      {"host:-1", "port \"-1\""},
      {":80", "no host"},
      {"[]:80", "no host"},
      {"::1:80", "in brackets"},
      {"[::1:80", "in brackets"},
      {"host:99999999999999999999", "port"},
  };
  for (const auto& wrong : cases) {
    const auto address = parse_address(wrong.text);
    EXPECT_CODE(address, Code::kInvalidArgument) << wrong.text;
    EXPECT_THAT(std::string(address.status().text()), HasSubstr(wrong.complaint)) << wrong.text;
  }
}

TEST(Address, ThisHostHasANameAndAReachableNumber) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_OK(parse_address(to_string(Address{reachable_host(), 80})));
  EXPECT_NE(reachable_host(), "0.0.0.0");
}

}  // namespace
}  // namespace weft::net
