// Operators of atomics.
#pragma once

#include <cstdint>

namespace weft {

// Atomic operations on one 4- or 8-byte word.
enum class Amo : std::uint8_t {
  kSet,
  kAdd,
  kAnd,
  kOr,
  kXor,  // no result
  kFetch,
  kSwap,
  kCompareSwap,
  kFetchAdd,
  kFetchAnd,
  kFetchOr,
  kFetchXor,
};

}  // namespace weft
