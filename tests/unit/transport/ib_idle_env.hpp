// IdleEnv: what lanes of ib share, without a device and without memory.
#pragma once

#include "host/transport/ib/lane_env.hpp"
#include "host/transport/transport.hpp"

namespace weft::ib::test {

struct IdleEnv {
  explicit IdleEnv(bool owns_atomics)
      : env{.own = network::OwnMemory(heaps, nullptr), .owns_atomics = owns_atomics} {}

  TransportEnv transport;
  Heaps heaps{"ib", transport};
  LaneEnv env;
};

}  // namespace weft::ib::test
