// Counting in shares of a size.
#pragma once

#include <cstddef>

#include <weft/target.hpp>

namespace weft::kernels {

// Of `of` alike, so many hold all of `value`; and what these hold together.
WEFT_HOST_DEVICE constexpr std::size_t shares(std::size_t value, std::size_t of) {
  return (value + of - 1) / of;
}
WEFT_HOST_DEVICE constexpr std::size_t rounded_up(std::size_t value, std::size_t to) {
  return shares(value, to) * to;
}

}  // namespace weft::kernels
