// Values that go by Lamport (weft/device/lamport.hpp).
#pragma once

#include <cstdint>

#include <weft/target.hpp>

namespace weft::kernels {

// Data are never kLamportEmpty: all ones are NaNs, of floats of four bytes or of two, and so is the
// word below, which is sent instead.
WEFT_HOST_DEVICE std::uint64_t sendable(std::uint64_t word) {
  return word == ~std::uint64_t{0} ? word - 1 : word;
}

// The key that any data are combined with (escaped_lamport_channel.hpp): it is seldom found in
// memory.
inline constexpr std::uint64_t kEscapeKey = 0x5a17c3e90b6df284;

}  // namespace weft::kernels
