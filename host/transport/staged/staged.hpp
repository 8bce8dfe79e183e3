// staged: GPUs of this host that mine does not reach.
//
// I open a peer's chunks for the GPU that has them, not for mine: my process then copies to and
// from that memory, and runs kernels there, beside the peer's. A put is a copy from here into
// memory of the host and one from there to the peer, on a stream of either GPU; a get goes the
// other way round; an atomic is a kernel on the peer's GPU, so that it is one among those of the
// peer's own kernels. The peer takes no part. Kernels have no address to load from and store to:
// their operations come by the ring.
//
// Orders. An op is executed when it is posted, and is complete then: what reaches the peer is there
// before the next op begins. So is the data of a put before its notify is queued: the stream that
// brought it has been waited for. A PE that sees the word, by an acquiring load, sees the data.
#pragma once

#include <memory>

#include "host/transport/transport.hpp"

namespace weft {

std::unique_ptr<Transport> make_staged(const TransportEnv& env);

}  // namespace weft
