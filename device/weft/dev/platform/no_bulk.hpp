// A part of the platforms that have no engine for bulk copies.
#pragma once

#include <cstddef>

#include <weft/target.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace platform {

inline constexpr bool kHasBulkCopy = false;
WEFT_DEVICE bool is_in_memory(const void*) { return true; }
WEFT_DEVICE void bulk_copy(std::byte*, unsigned, std::byte*, const std::byte*, std::size_t) {}
WEFT_DEVICE void bulk_copy_rows(std::byte*, unsigned, std::byte*, std::size_t, const std::byte*,
                                std::size_t, unsigned, unsigned) {}

}  // namespace platform
}  // namespace WEFT_TARGET
}  // namespace weft::dev
