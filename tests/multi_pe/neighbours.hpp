// Whom a PE talks to in a ring, and values that tell PEs apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/runtime.hpp>

namespace weft {

inline int next_of(const Runtime& rt) { return (rt.pe() + 1) % rt.npes(); }
inline int previous_of(const Runtime& rt) { return (rt.pe() + rt.npes() - 1) % rt.npes(); }
inline std::uint64_t mark(int pe, std::size_t i = 0) {
  return (static_cast<std::uint64_t>(pe) + 1) * 1'000'003 + i;
}

}  // namespace weft
