// Whether declarations of ours are those of a vendor's header.
#pragma once

#include <cstddef>
#include <type_traits>

#include "src/platform/gpu/abi.hpp"

namespace weft::gpu::abi {

// Whether two types are passed alike in C: numbers and enumerations of one size, pointers to such,
// structures of one size, any pointer where we have void*, and an address where we have Pointer or
// Handle.
template <class Ours, class Theirs>
constexpr bool alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_pointer_t<Ours>;
    using Their = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_void_v<To>) {
      return std::is_const_v<To> == std::is_const_v<Their>;
    } else if constexpr (std::is_void_v<Their>) {
      return false;
    } else {
      return std::is_const_v<To> == std::is_const_v<Their> &&
             alike<std::remove_const_t<To>, std::remove_const_t<Their>>();
    }
  } else if constexpr (std::is_class_v<Ours> &&
                       (std::is_class_v<Theirs> || std::is_union_v<Theirs>)) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) <= alignof(Theirs);
  } else if constexpr (std::is_same_v<Ours, Pointer> && std::is_pointer_v<Theirs>) {
    return sizeof(Pointer) == sizeof(Theirs);
  } else if constexpr (std::is_enum_v<Ours>) {
    return std::is_enum_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

template <class Ours, class Theirs>
struct SameFunction : std::false_type {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct SameFunction<Entry<R(P...)>, S(Q...)>
    : std::bool_constant<alike<R, S>() && (alike<P, Q>() && ...)> {
};

template <class Ours, class Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

#define WEFT_SAME_MEMBER(Ours, ours, Theirs, theirs)                \
  static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs) && \
                sizeof(Ours{}.ours) == sizeof(Theirs{}.theirs))

}  // namespace weft::gpu::abi
