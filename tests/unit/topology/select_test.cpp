#include "host/topology/select.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Select, TheFirstThatReachesWinsAndTheOthersSayWhyNot) {
  const std::vector<Offer> offers = {
      {"p2p", {"that is me", "", "another host", "another host"}},
      {"loopback", {"", "not me", "not me", "not me"}},
      {"net", {"", "", "", "no address"}},
  };
  const auto picks = select(offers, 4);
  ASSERT_EQ(picks.size(), 4u);
  EXPECT_EQ(picks[0].offer, 1);
  EXPECT_EQ(picks[0].reason, "loopback (p2p: that is me)");
  EXPECT_EQ(picks[1].offer, 0);
  EXPECT_EQ(picks[1].reason, "p2p");
  EXPECT_EQ(picks[2].offer, 2);
  EXPECT_EQ(picks[2].reason, "net (p2p: another host; loopback: not me)");
  EXPECT_EQ(picks[3].offer, -1);
  EXPECT_EQ(picks[3].reason, "p2p: another host; loopback: not me; net: no address");
}

TEST(Select, WithoutTransportsNobodyIsReached) {
  const auto picks = select({}, 2);
  ASSERT_EQ(picks.size(), 2u);
  EXPECT_EQ(picks[0].offer, -1);
  EXPECT_EQ(picks[0].reason, "there is no transport");
}

}  // namespace
}  // namespace weft
