// How a team's members lie on hosts: what weft/dev/team_hosts.hpp reads. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

// The words for the member of rank `rank`. host_of[rank]: any number that tells hosts apart.
std::vector<std::int32_t> team_hosts(const std::vector<int>& host_of, int rank);

}  // namespace weft
