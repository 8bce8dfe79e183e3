#include "src/net/address.hpp"
#include "src/net/interface.hpp"

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

const std::vector<Interface> kThere = {
    {"lo", "127.0.0.1", true},        {"lo", "::1", true},
    {"eth0", "fe80::1%eth0", false},  {"eth0", "10.1.2.3", false},
    {"docker0", "172.17.0.1", false}, {"ib0", "fe80::2%ib0", false},
    {"ib0", "fd00:1::7", false},      {"veth1", "fe80::3%veth1", false},
};

TEST(ChooseHost, TakesInterfacesSubnetsAndAllButSome) {
  const struct {
    const char* wanted;
    const char* host;
  } cases[] = {
      {"eth0", "10.1.2.3"},
      {"ib0", "fd00:1::7"},
      {"veth1", "fe80::3%veth1"},
      {"lo", "127.0.0.1"},
      {"172.16.0.0/12", "172.17.0.1"},
      {"fd00::/8", "fd00:1::7"},
      {"fe80::/10", "fe80::1%eth0"},
      {"^eth0", "172.17.0.1"},
      {"^eth0,docker0", "fd00:1::7"},
      {"^", "10.1.2.3"},
      {"nothing,ib0,eth0", "fd00:1::7"},
      {"10.1.2.3/32", "10.1.2.3"},
      {"::1/128", "::1"},
  };
  for (const auto& each : cases) {
    const auto host = choose_host(each.wanted, kThere);
    ASSERT_OK(host) << each.wanted;
    EXPECT_EQ(*host, each.host) << each.wanted;
  }
}

TEST(ChooseHost, WhatDoesNotFitIsAnErrorThatListsWhatThereIs) {
  for (const char* wanted : {"eth7", "eth", "10.2.0.0/16", "^eth0,docker0,ib0,veth1", ","}) {
    const auto host = choose_host(wanted, kThere);
    EXPECT_CODE(host, Code::kInvalidArgument) << wanted;
    for (const char* part : {wanted, "eth0 (10.1.2.3)", "ib0 (fd00:1::7)"}) {
      EXPECT_THAT(std::string(host.status().text()), HasSubstr(part));
    }
  }
  for (const char* wanted : {"10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "/8", "fd00::/129", "a/b"}) {
    const auto host = choose_host(wanted, kThere);
    EXPECT_CODE(host, Code::kInvalidArgument) << wanted;
    EXPECT_THAT(std::string(host.status().text()), HasSubstr("not a subnet")) << wanted;
  }
}

TEST(ChooseHost, TheLoopbackOfThisHostIsThere) {
  const auto host = choose_host("127.0.0.0/8", list_interfaces());
  ASSERT_OK(host);
  EXPECT_EQ(*host, "127.0.0.1");
}

TEST(Address, AnotherHostsScopeIsReplacedByOurs) {
  EXPECT_EQ(with_scope_of({"fe80::9%ib3", 7}, {"fe80::1%eth0", 1}).host, "fe80::9%eth0");
  EXPECT_EQ(with_scope_of({"fd00::9", 7}, {"fe80::1%eth0", 1}).host, "fd00::9");
  EXPECT_EQ(with_scope_of({"fe80::9%ib3", 7}, {"10.0.0.1", 1}).host, "fe80::9%ib3");
}

}  // namespace
}  // namespace weft::net
