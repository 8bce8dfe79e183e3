// null: takes every op and brings nothing, so that what comes before a network can be measured
// alone: kernels, rings, the proxy. Between memory of GPUs only: a job of hosts could not meet by
// it. weft-gpu-perf --ring is who uses it.
#pragma once

#include <memory>

#include "host/transport/transport.hpp"

namespace weft {

std::unique_ptr<Transport> make_null(const TransportEnv& env);

}  // namespace weft
