// loopback: my own heap.
#pragma once

#include <memory>

#include "host/transport/transport.hpp"

namespace weft {

std::unique_ptr<Transport> make_loopback(const TransportEnv& env);

}  // namespace weft
