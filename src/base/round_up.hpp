// Sizes and places at multiples of a unit.
#pragma once

#include <cstddef>

namespace weft {

// To the next multiple of `unit`, which need not be a power of two.
constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace weft
