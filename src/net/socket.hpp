// Stream sockets over TCP, v4 and v6. Every socket is non-blocking and closed on exec; every wait
// has a deadline; no call raises SIGPIPE. Errors name the peer, what failed and what was awaited.
#pragma once

#include <weft/result.hpp>

#include "src/base/clock.hpp"
#include "src/base/unique_fd.hpp"
#include "src/net/address.hpp"

namespace weft::net {

// Port 0 takes a free one; local_address() tells which.
Result<UniqueFd> listen_at(const std::string& host, int port);
Result<Address> local_address(int fd);

struct Accepted {
  UniqueFd socket;
  std::string peer;
};
// kBusy if nobody is at the door.
Result<Accepted> accept_one(int listener);

// How long an attempt to connect may take before the next, after so much waiting in vain.
double attempt_seconds(double waited_s);

// Tries again while the network may still come up. A refusal is final: nobody listens there.
Result<UniqueFd> connect_to(const Address& address, const Deadline& deadline);

// A connection to a numeric address, under way: it may be written to at once, which is kBusy until
// it stands and fails if it never will.
Result<UniqueFd> begin_connect(const Address& address);

// Waits until one of `events` of poll() happens; `what` says what for in the kTimeout error.
Status wait_for(int fd, short events, const Deadline& deadline, std::string_view what);

// "Connection refused (errno 111)".
std::string errno_text(int error);

}  // namespace weft::net
