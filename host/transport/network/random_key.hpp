// Keys that a stranger cannot guess.
#pragma once

#include <cstdint>
#include <cstring>

#include "src/platform/platform.hpp"

namespace weft::network {

// 64 bits from the kernel's random numbers.
inline std::uint64_t random_key() {
  const Uuid random = random_uuid();
  std::uint64_t key = 0;
  std::memcpy(&key, random.data(), sizeof key);
  return key;
}

}  // namespace weft::network
