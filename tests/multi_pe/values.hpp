// Random values of every element type, and poison around what must not be touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace weft {

using Random = std::mt19937_64;

// Whole numbers that every type holds exactly.
template <class T>
T random_value(Random& random) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(static_cast<std::int32_t>(random() & 0xffffff) - 0x800000);
  else
    return static_cast<T>(random());
}

template <class T>
std::vector<T> random_values(Random& random, std::size_t count) {
  std::vector<T> values(count);
  for (T& value : values) value = random_value<T>(random);
  return values;
}

inline constexpr unsigned char kPoison = 0xa5;

inline void poison_bytes(void* memory, std::size_t bytes) { std::memset(memory, kPoison, bytes); }

// How many of the bytes have been touched.
inline std::size_t touched_bytes(const void* memory, std::size_t bytes) {
  std::size_t touched = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    if (static_cast<const unsigned char*>(memory)[i] != kPoison) ++touched;
  return touched;
}

}  // namespace weft
