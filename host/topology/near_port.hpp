// Which RDMA ports a PE uses. Pure: the ports of a machine go in, a choice with its reasons comes
// out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/topology/machine.hpp"

namespace weft {

struct PortChoice {
  int port = 0;        // of those given
  std::string reason;  // "same PCIe switch"
  int level = 0;       // those of one level are equally good
};

// All active ports, the one to use first. PEs talk within one link layer, so those of the layer
// that has the fastest port come before others, then the nearest to `place`, then the
// fastest. Equal ones, of one level, are shared in turn by `rank`, the PE's place among those that
// are at the same place.
std::vector<PortChoice> near_ports(std::span<const NicPort> ports, const Place& place, int rank);

}  // namespace weft
