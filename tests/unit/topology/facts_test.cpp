#include "host/topology/facts.hpp"

#include <cstdio>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::HasSubstr;

// As recorded on two hosts.
Facts recorded(const char* host, const char* boot, int process) {
  Facts facts;
  std::snprintf(facts.host, sizeof(facts.host), "%s", host);
  std::snprintf(facts.boot_id, sizeof(facts.boot_id), "%s", boot);
  facts.process[0] = static_cast<std::byte>(process);
  facts.netns = 4026531840;
  facts.uid = 1000;
  facts.pid = 100 + process;
  return facts;
}
constexpr const char* kBootA = "3b6c1a52-0000-4000-8000-00000000000a";
constexpr const char* kBootB = "3b6c1a52-0000-4000-8000-00000000000b";

TEST(WhyNotMapped, ThreadsOfOneProcessAndProcessesOfOneHostAre) {
  const Facts mine = recorded("node7", kBootA, 1);
  EXPECT_EQ(why_not_mapped(mine, mine), "");
  EXPECT_EQ(why_not_mapped(mine, recorded("node7", kBootA, 2)), "");
  // A container has a host name of its own; the kernel is the same.
  EXPECT_EQ(why_not_mapped(mine, recorded("3f2a9c", kBootA, 2)), "");
}

TEST(WhyNotMapped, AnotherHostIsNotEvenUnderTheSameName) {
  const std::string why =
      why_not_mapped(recorded("node7", kBootA, 1), recorded("node7", kBootB, 2));
  EXPECT_THAT(why, HasSubstr("another host"));
  EXPECT_THAT(why, HasSubstr(kBootA));
  EXPECT_THAT(why, HasSubstr(kBootB));
}

TEST(WhyNotMapped, AMachineMayPlaySeveralHosts) {
  const Facts mine = recorded("node7", kBootA, 1);
  Facts theirs = recorded("node7", kBootA, 2);
  theirs.part = 1;
  EXPECT_TRUE(same_machine(mine, theirs));
  EXPECT_FALSE(same_host(mine, theirs));
  EXPECT_THAT(why_not_mapped(mine, theirs), HasSubstr("part 1 of node7"));
  EXPECT_THAT(why_not_mapped(mine, theirs), HasSubstr("WEFT_PRETEND_HOSTS"));
}

TEST(HostsOf, NamesTheFirstPeOfEachHost) {
  std::vector<Facts> facts = {recorded("a", kBootA, 1), recorded("b", kBootB, 2),
                              recorded("a", kBootA, 3), recorded("b", kBootB, 4)};
  EXPECT_EQ(hosts_of(facts), (std::vector<int>{0, 1, 0, 1}));
  facts[2].part = 1;
  EXPECT_EQ(hosts_of(facts), (std::vector<int>{0, 1, 2, 1}));
}

TEST(PartOfMachine, SharesAreEqualAndInTurn) {
  std::vector<int> parts;
  for (int pe = 0; pe < 7; ++pe) parts.push_back(part_of_machine(3, pe, 7));
  EXPECT_EQ(parts, (std::vector<int>{0, 0, 0, 1, 1, 2, 2}));
  for (int pe = 0; pe < 7; ++pe) EXPECT_EQ(part_of_machine(1, pe, 7), 0);
}

TEST(WhyNotMapped, UnknownBootsAreNotTakenForTheSame) {
  const std::string why = why_not_mapped(recorded("a", "", 1), recorded("b", "", 2));
  EXPECT_THAT(why, HasSubstr("boot_id"));
  // Threads of one process know each other without it.
  EXPECT_EQ(why_not_mapped(recorded("a", "", 1), recorded("a", "", 1)), "");
}

TEST(WhyNotMapped, NamesTheNetworkNamespaceAndTheUser) {
  const Facts mine = recorded("node7", kBootA, 1);
  Facts theirs = recorded("node7", kBootA, 2);
  theirs.netns = 4026532500;
  EXPECT_THAT(why_not_mapped(mine, theirs), HasSubstr("net:[4026532500]"));
  theirs.netns = mine.netns;
  theirs.uid = 0;
  EXPECT_THAT(why_not_mapped(mine, theirs), HasSubstr("user 0, I run as user 1000"));
  theirs.process = mine.process;  // threads need neither
  EXPECT_EQ(why_not_mapped(mine, theirs), "");
}

TEST(Discover, FindsThisPlace) {
  const auto facts = discover();
  ASSERT_TRUE(facts.is_ok());
  EXPECT_FALSE(facts->host_name().empty());
  EXPECT_EQ(facts->boot().size(), 36u);  // a UUID
  EXPECT_NE(facts->netns, 0u);
  EXPECT_GE(facts->cores, 1);
  EXPECT_GE(facts->numa_node, -1);
  const auto again = discover();
  EXPECT_TRUE(same_process(*facts, *again));
  EXPECT_EQ(why_not_mapped(*facts, *again), "");
}

}  // namespace
}  // namespace weft
