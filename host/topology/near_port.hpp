// Which RDMA port a PE uses. Pure: the machine goes in, a choice with its reasons comes out.
#pragma once

#include <string>
#include <vector>

#include "host/topology/machine.hpp"

namespace weft {

struct PortChoice {
  int port = 0;        // of MachineFacts::ports
  std::string reason;  // "same PCIe switch"
};

// All active ports, the one to use first. PEs talk within one link layer, so those of the layer
// that has the machine's fastest port come before others, then the nearest to `place`, then the
// fastest. Equal ones are shared in turn by `rank`, the PE's place among those that are at the same
// place.
std::vector<PortChoice> near_ports(const MachineFacts& machine, const Place& place, int rank);

}  // namespace weft
