// ib: PEs of other hosts, by InfiniBand or RoCE.
//
// Puts and gets are RDMA writes and reads; an atomic is a request that the owner of the word
// executes by a thread of its own, so that it is one among those of its host. Queue pairs are made
// when a lane first speaks to a PE.
#pragma once

#include <memory>

#include "host/transport/transport.hpp"

namespace weft {

std::unique_ptr<Transport> make_ib(const TransportEnv& env);

}  // namespace weft
