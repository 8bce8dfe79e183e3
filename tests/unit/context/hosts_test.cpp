// How a team's members lie on hosts, written and read.
#include "host/team/hosts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include <weft/dev/team_hosts.hpp>

namespace weft {
namespace {

TEST(TeamHosts, AreReadAsTheyWereWritten) {
  const std::vector<int> host_of = {7, 3, 7, 7, 9, 3};  // ranks 0 2 3, 1 5, 4
  for (int rank = 0; rank < 6; ++rank) {
    const std::vector<std::int32_t> words = team_hosts(host_of, rank);
    ASSERT_EQ(words.size(), team_hosts_words(host_of.size()) - 3);  // fewer hosts than members
    const TeamHosts hosts(words.data());
    ASSERT_EQ(hosts.count(), 3);
    EXPECT_EQ((std::vector<int>{hosts.size(0), hosts.size(1), hosts.size(2)}),
              (std::vector<int>{3, 2, 1}));
    EXPECT_EQ(hosts.rank(hosts.mine(), hosts.place()), rank);
    EXPECT_EQ(hosts.rank(0, 2), 3);
    EXPECT_EQ(hosts.rank(1, 1), 5);
  }
}

// One member of each other host hears a sender, whichever sends, and knows that.
TEST(TeamHosts, EachSenderHasOneGateAtAnotherHost) {
  const std::vector<int> host_of = {0, 0, 0, 1, 1, 0, 2, 0};
  for (std::size_t sender = 0; sender < host_of.size(); ++sender) {
    const auto from = team_hosts(host_of, static_cast<int>(sender));
    const TeamHosts his(from.data());
    for (int host = 0; host < his.count(); ++host) {
      if (host == his.mine()) continue;
      std::vector<int> gates;
      for (int place = 0; place < his.size(host); ++place) {
        const int rank = his.rank(host, place);
        const auto words = team_hosts(host_of, rank);
        TeamHosts(words.data()).for_senders(his.mine(), [&](int each) {
          if (each == static_cast<int>(sender)) gates.push_back(rank);
          return true;
        });
      }
      EXPECT_EQ(gates, std::vector<int>{his.leader(host, his.place())});
    }
  }
}

}  // namespace
}  // namespace weft
