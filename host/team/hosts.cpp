#include "host/team/hosts.hpp"

#include <algorithm>

#include <weft/dev/team_hosts.hpp>

namespace weft {

std::vector<std::int32_t> team_hosts(const std::vector<int>& host_of, int rank) {
  std::vector<int> hosts;  // by their first rank
  for (const int host : host_of)
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  std::int32_t mine = 0, place = 0;
  std::vector<std::int32_t> begins{0}, ranks;
  for (const int host : hosts) {
    for (std::size_t each = 0; each < host_of.size(); ++each) {
      if (host_of[each] != host) continue;
      if (static_cast<int>(each) == rank) {
        mine = static_cast<std::int32_t>(begins.size()) - 1;
        place = static_cast<std::int32_t>(ranks.size()) - begins.back();
      }
      ranks.push_back(static_cast<std::int32_t>(each));
    }
    begins.push_back(static_cast<std::int32_t>(ranks.size()));
  }
  std::vector<std::int32_t> words{static_cast<std::int32_t>(hosts.size()), mine, place};
  words.insert(words.end(), begins.begin(), begins.end());
  words.insert(words.end(), ranks.begin(), ranks.end());
  return words;
}

}  // namespace weft
