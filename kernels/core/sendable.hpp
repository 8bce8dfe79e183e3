// What of sums goes as words (weft/device/word.hpp).
#pragma once

#include <cstdint>

#include <weft/target.hpp>

namespace weft::kernels {

// Data are never kNoWord: of all ones, floats of four bytes or of two are NaNs, as are those of
// this.
WEFT_HOST_DEVICE std::uint64_t sendable(std::uint64_t word) {
  return word == ~std::uint64_t{0} ? word - 1 : word;
}

}  // namespace weft::kernels
