// Which GID of a port is used. Pure.
//
// On Ethernet: RoCE v2 before v1, since v2 is routed; an IPv4 address before a global IPv6 one
// before a link-local one, since networks are set up for the first. The lowest index of equals.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/transport/ib/verbs.hpp"

namespace weft::ib {

// Chooses from a port's table; `wanted` is an index of it, -1: the best. `port` is for messages.
Result<const ibv_gid_entry*> best_gid(std::span<const ibv_gid_entry> table, int wanted,
                                      std::string_view port);

// "RoCE v2 (10.0.0.1)"
std::string show_gid(const ibv_gid_entry& entry);

}  // namespace weft::ib
