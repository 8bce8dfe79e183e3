// Division and alignment that round up.
#pragma once

#include <cstddef>

#include <weft/target.hpp>

namespace weft::kernels {

// ceil_div(): so many parts of `of` hold all of `value`. align_up(): what such parts of `to` hold.
WEFT_HOST_DEVICE constexpr std::size_t ceil_div(std::size_t value, std::size_t of) {
  return (value + of - 1) / of;
}
WEFT_HOST_DEVICE constexpr std::size_t align_up(std::size_t value, std::size_t to) {
  return ceil_div(value, to) * to;
}

}  // namespace weft::kernels
