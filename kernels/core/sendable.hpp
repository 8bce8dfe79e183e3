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

// What turns any data (any_word_channel.hpp). It is nothing that is often found in memory.
inline constexpr std::uint64_t kAnyWordKey = 0x5a17c3e90b6df284;

}  // namespace weft::kernels
