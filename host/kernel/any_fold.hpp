// AnyFold: the Fold of dev/collective_reduce.hpp whose element and operator are values.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/collective.hpp>
#include <weft/device/kernel.hpp>

namespace weft::kernel {

inline constexpr bool is_on_gpus(Element type) {
  return type <= Element::kDouble;  // no long double, no complex numbers
}

using dev::Folding;
using dev::is_scan;

struct AnyFold {
  Element type;
  ReduceOp op;
  std::uint8_t element;  // bytes

  // body(ElementFold) of the type and operator that these values stand for. The host has checked
  // that there is such a fold. Only minimum and maximum ask whether integers are signed.
  template <class Body>
  WEFT_DEVICE void visit(Body body) const {
    const bool compares = op == ReduceOp::kMin || op == ReduceOp::kMax;
    switch (type) {
      case Element::kInt8:
        if (compares) return with_order<std::int8_t>(body);
        [[fallthrough]];
      case Element::kUint8: return with_integer<std::uint8_t>(body);
      case Element::kInt16:
        if (compares) return with_order<std::int16_t>(body);
        [[fallthrough]];
      case Element::kUint16: return with_integer<std::uint16_t>(body);
      case Element::kInt32:
        if (compares) return with_order<std::int32_t>(body);
        [[fallthrough]];
      case Element::kUint32: return with_integer<std::uint32_t>(body);
      case Element::kInt64:
        if (compares) return with_order<std::int64_t>(body);
        [[fallthrough]];
      case Element::kUint64: return with_integer<std::uint64_t>(body);
      case Element::kHalf: return with_any<Half>(body);
      case Element::kBfloat16: return with_any<Bfloat16>(body);
      case Element::kFloat: return with_any<float>(body);
      case Element::kDouble: return with_any<double>(body);
      default: return;
    }
  }

  static constexpr bool kPacks = true;  // every type on GPUs fits
  WEFT_DEVICE std::uint64_t unit(std::uint64_t a, std::uint64_t b) const {
    std::uint64_t result = 0;
    visit([&](auto typed) { result = typed.unit(a, b); });
    return result;
  }
  template <class Scope, class Source>
  WEFT_DEVICE void fold(const Scope& scope, std::byte* dst, const Source& source, int n,
                        std::size_t count) const {
    visit([&](auto typed) { typed.fold(scope, dst, source, n, count); });
  }
  template <class Scope>
  WEFT_DEVICE void fill(const Scope& scope, std::byte* dst, std::size_t count) const {
    visit([&](auto typed) { typed.fill(scope, dst, count); });
  }

 private:
  template <class T, class Body>
  WEFT_DEVICE void with_integer(Body body) const {
    switch (op) {
      case ReduceOp::kAnd: return body(dev::coll::ElementFold<T, ReduceOp::kAnd>{});
      case ReduceOp::kOr: return body(dev::coll::ElementFold<T, ReduceOp::kOr>{});
      case ReduceOp::kXor: return body(dev::coll::ElementFold<T, ReduceOp::kXor>{});
      default: return with_any<T>(body);
    }
  }
  template <class T, class Body>
  WEFT_DEVICE void with_any(Body body) const {
    switch (op) {
      case ReduceOp::kSum: return body(dev::coll::ElementFold<T, ReduceOp::kSum>{});
      case ReduceOp::kProd: return body(dev::coll::ElementFold<T, ReduceOp::kProd>{});
      default: return with_order<T>(body);
    }
  }
  template <class T, class Body>
  WEFT_DEVICE void with_order(Body body) const {
    if (op == ReduceOp::kMin) return body(dev::coll::ElementFold<T, ReduceOp::kMin>{});
    if (op == ReduceOp::kMax) return body(dev::coll::ElementFold<T, ReduceOp::kMax>{});
  }
};

}  // namespace weft::kernel
