// Copies inside one PE's reach, by all threads of a scope.
#pragma once

#include <cstddef>

#include <weft/target.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// Bytes that do not overlap, of any number and alignment, between any memory that kernels load and
// store. Orders nothing and has no barrier inside: the caller puts the barriers.
template <class Scope>
WEFT_DEVICE_CALL void copy(Scope scope, std::byte* dst, const std::byte* src, std::size_t bytes);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
