// How the members of a team lie on hosts. On one host they load and store each other's memory; what
// goes to another crosses once, to one member there, which tells the others of that host. Which one
// depends on who sends, so that all members of a host, and their NICs, take part.
//
// In every member's block, at TeamLayout::hosts: the number of hosts (0: nobody looks at hosts),
// mine, my place among those of it; where each host's ranks begin, and one more; the ranks, host by
// host. Written by the block's owner when the team is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/target.hpp>

namespace weft {

inline constexpr std::size_t kTeamHostsHead = 3;  // words before the beginnings
WEFT_HOST_DEVICE constexpr std::size_t team_hosts_words(std::size_t members) {
  return kTeamHostsHead + (members + 1) + members;
}

class TeamHosts {
 public:
  WEFT_HOST_DEVICE explicit TeamHosts(const std::int32_t* words) : words_(words) {}

  WEFT_HOST_DEVICE int count() const { return words_[0]; }
  WEFT_HOST_DEVICE int mine() const { return words_[1]; }
  WEFT_HOST_DEVICE int place() const { return words_[2]; }  // mine, among those of my host
  WEFT_HOST_DEVICE int size(int host) const { return begin(host + 1) - begin(host); }
  WEFT_HOST_DEVICE int mates() const { return size(mine()); }  // members on my host, I too
  WEFT_HOST_DEVICE int rank(int host, int place) const { return ranks()[begin(host) + place]; }
  // The member of `host` that hears from that place of another host, and tells the others.
  WEFT_HOST_DEVICE int leader(int host, int place_of_sender) const {
    return rank(host, place_of_sender % size(host));
  }
  // The members of another host whose leader I am, until one visit says false.
  template <class Visit>
  WEFT_HOST_DEVICE bool for_senders(int host, Visit visit) const {
    for (int at = place(); at < size(host); at += mates())
      if (!visit(rank(host, at))) return false;
    return true;
  }

 private:
  WEFT_HOST_DEVICE int begin(int host) const { return words_[kTeamHostsHead + host]; }
  WEFT_HOST_DEVICE const std::int32_t* ranks() const {
    return words_ + kTeamHostsHead + count() + 1;
  }

  const std::int32_t* words_;
};

}  // namespace weft
