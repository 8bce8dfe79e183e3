// From types that were chosen on the command line to C++ types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <weft/collective.hpp>

namespace weft::perf {

struct Sixteen {
  std::uint64_t low = 0, high = 0;
};

// Calls f(T{}) with a plain type of `width` bytes: 1, 2, 4, 8 or 16. Operations that only move
// bytes need no more than that.
template <class F>
auto with_width(std::size_t width, F&& f) {
  switch (width) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(Sixteen{});
  }
}

// Calls f(T{}) with the element's type.
template <class F>
auto with_element(Element element, F&& f) {
  switch (element) {
    case Element::kInt8: return f(std::int8_t{});
    case Element::kInt16: return f(std::int16_t{});
    case Element::kInt32: return f(std::int32_t{});
    case Element::kInt64: return f(std::int64_t{});
    case Element::kUint8: return f(std::uint8_t{});
    case Element::kUint16: return f(std::uint16_t{});
    case Element::kUint32: return f(std::uint32_t{});
    case Element::kUint64: return f(std::uint64_t{});
    case Element::kFloat: return f(float{});
    case Element::kDouble: return f(double{});
    default: return f(0.0L);
  }
}

// The same for the types that atomics have: 4- and 8-byte integers, float and double.
template <class F>
auto with_atomic_type(Element element, F&& f) {
  switch (element) {
    case Element::kInt32: return f(std::int32_t{});
    case Element::kUint32: return f(std::uint32_t{});
    case Element::kInt64: return f(std::int64_t{});
    case Element::kFloat: return f(float{});
    case Element::kDouble: return f(double{});
    default: return f(std::uint64_t{});
  }
}

}  // namespace weft::perf
