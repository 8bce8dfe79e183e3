// The two messages between a fetcher and a server of descriptors. Ticket there, answer back with
// the descriptor beside it; each is one packet of a SOCK_SEQPACKET socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>

#include "src/platform/platform.hpp"

namespace weft::cpu {

enum class FdAnswer : std::uint32_t { kGiven = 1, kUnknownTicket = 2 };

// An abstract name: begins with a zero byte, so it is in no file system.
struct AbstractAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;
};
AbstractAddress abstract_address(const Uuid& name);

}  // namespace weft::cpu
