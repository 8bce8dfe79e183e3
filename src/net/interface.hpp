// The networks of this host, and which of them users mean: "eth0", "^docker0,virbr0" (all but
// these), "10.1.0.0/16", "fd00::/8", or several of them with commas, the best first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/result.hpp>

namespace weft::net {

// One address of an interface that is up.
struct Interface {
  std::string name;
  std::string host;  // as a number; a link-local one with its scope: "fe80::1%eth0"
  bool loopback = false;
};

std::vector<Interface> list_interfaces();

// The address of the first that fits; of one interface IPv4 comes first and link-local last. The
// error lists what there is.
Result<std::string> choose_host(std::string_view wanted, const std::vector<Interface>& there);

}  // namespace weft::net
