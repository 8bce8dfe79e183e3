// Operands of atomics, as the bits of a word.
#pragma once

#include <cstdint>
#include <cstring>

namespace weft {

// The bytes of a value of at most 8, and zeros above.
template <class T>
std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}

}  // namespace weft
