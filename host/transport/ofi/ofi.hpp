// ofi: PEs of other hosts, by whatever network libfabric serves: tcp anywhere, verbs, EFA,
// Slingshot.
//
// Larger puts and gets are the provider's RMA; words, atomics, small puts and notifies are requests
// that the owner of the heap executes. One endpoint speaks to all PEs, for all lanes.
#pragma once

#include <string>

#include "host/transport/transport.hpp"

namespace weft {

// The provider that it would use, "tcp;ofi_rxm on eth0 (192.0.2.2)", or why there is none.
Result<std::string> ofi_network(const Options& options);

}  // namespace weft
