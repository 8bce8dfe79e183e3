// p2p: heaps of other PEs of this host, mapped.
//
// A PE that is a thread of my process is reached at its own addresses. A PE of another process
// hands me its chunks (Platform::share, open); I map them into one reservation per peer, so that
// peer address = base + offset for ever.
#pragma once

#include <memory>

#include "host/transport/transport.hpp"

namespace weft {

std::unique_ptr<Transport> make_p2p(const TransportEnv& env);

}  // namespace weft
