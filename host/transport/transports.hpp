// make_NAME() of each transport (transports.def.hpp).
#pragma once

#include <memory>

#include "host/transport/transport.hpp"

namespace weft {

#define WEFT_TRANSPORT(name, serves, carries, help) \
  std::unique_ptr<Transport> make_##name(const TransportEnv& env);
#include "host/transport/transports.def.hpp"

}  // namespace weft
