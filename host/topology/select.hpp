// Which transport carries what to which PE. Pure: what the transports say goes in, a choice with a
// reason for every PE comes out.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace weft {

// The answer of one transport, in order of preference.
struct Offer {
  std::string name;
  std::vector<std::string> why_not;  // per PE; "" means that it reaches it
};

struct Pick {
  int offer = -1;      // -1: out of reach
  std::string reason;  // "p2p"; "ofi (p2p: it runs on another host ...)"
};

// The first that reaches wins.
std::vector<Pick> select(std::span<const Offer> offers, int npes);

}  // namespace weft
