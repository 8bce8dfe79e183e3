// Whom a PE talks to in a ring, values that tell PEs apart, and order that race detectors see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/runtime.hpp>

#include "tests/support/sanitizer.hpp"

namespace weft {

inline int next_of(const Runtime& rt) { return (rt.pe() + 1) % rt.npes(); }
inline int previous_of(const Runtime& rt) { return (rt.pe() + rt.npes() - 1) % rt.npes(); }
inline std::uint64_t mark(int pe, std::size_t i = 0) {
  return (static_cast<std::uint64_t>(pe) + 1) * 1'000'003 + i;
}
inline std::vector<std::uint64_t> marks(int pe, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = mark(pe, i);
  return values;
}

// Between PEs as threads, where words of Weft's have told of memory that lies at one address for
// all. ThreadSanitizer knows words by their address, and each PE has its own for a peer's heap: it
// does not see that a release through one is what an acquire through the other meets.
inline Status show_order(Runtime& rt) { return kTsan ? rt.barrier() : Status::ok(); }

}  // namespace weft
