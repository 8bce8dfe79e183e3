#include "host/collective/host_fold.hpp"

#include <complex>
#include <cstdint>
#include <type_traits>

#include <fmt/format.h>

#include <weft/dev/collective_reduce.hpp>

namespace weft {

namespace {

// The loops carry nothing from one element to the next, even where out is a or b.
#if defined(__clang__)
// Some loops stay scalar, as products of complex numbers do, and all that a sanitizer or a fuzzer
// instruments.
#pragma clang diagnostic ignored "-Wpass-failed"
#define WEFT_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define WEFT_VECTORIZE _Pragma("GCC ivdep")
#endif

template <class T, ReduceOp kOp>
void combine_range(void* out, const void* a, const void* b, std::size_t count) {
  auto* to = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  WEFT_VECTORIZE
  for (std::size_t i = 0; i < count; ++i) to[i] = dev::coll::combine<kOp>(x[i], y[i]);
}

template <class T, ReduceOp kOp>
void fill_range(void* out, std::size_t count) {
  auto* to = static_cast<T*>(out);
  for (std::size_t i = 0; i < count; ++i) to[i] = dev::coll::identity<kOp, T>();
}

// Signed and unsigned differ in order only; one loop serves both elsewhere. (Either may be accessed
// through the other's type.)
template <class T, ReduceOp kOp, class = void>
struct Loop {
  using type = T;
};
template <class T, ReduceOp kOp>
struct Loop<
    T, kOp,
    std::enable_if_t<std::is_integral_v<T> && kOp != ReduceOp::kMin && kOp != ReduceOp::kMax>> {
  using type = std::make_unsigned_t<T>;
};

struct Loops {
  HostFold::Combine combine = nullptr;
  HostFold::Fill fill = nullptr;
};

template <class T, ReduceOp kOp>
Loops loops() {
  constexpr bool kBits = kOp == ReduceOp::kAnd || kOp == ReduceOp::kOr || kOp == ReduceOp::kXor;
  constexpr bool kOrder = kOp == ReduceOp::kMin || kOp == ReduceOp::kMax;
  if constexpr ((kBits && !is_bitwise_type<T>) || (kOrder && is_complex_type<T>)) {
    return {};
  } else {
    using U = typename Loop<T, kOp>::type;
    return {combine_range<U, kOp>, fill_range<U, kOp>};
  }
}

template <class T>
Loops loops_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return loops<T, ReduceOp::kSum>();
    case ReduceOp::kProd: return loops<T, ReduceOp::kProd>();
    case ReduceOp::kMin: return loops<T, ReduceOp::kMin>();
    case ReduceOp::kMax: return loops<T, ReduceOp::kMax>();
    case ReduceOp::kAnd: return loops<T, ReduceOp::kAnd>();
    case ReduceOp::kOr: return loops<T, ReduceOp::kOr>();
    case ReduceOp::kXor: return loops<T, ReduceOp::kXor>();
  }
  return {};
}

Loops loops_of(Element element, ReduceOp op) {
  switch (element) {
    case Element::kInt8: return loops_of<std::int8_t>(op);
    case Element::kInt16: return loops_of<std::int16_t>(op);
    case Element::kInt32: return loops_of<std::int32_t>(op);
    case Element::kInt64: return loops_of<std::int64_t>(op);
    case Element::kUint8: return loops_of<std::uint8_t>(op);
    case Element::kUint16: return loops_of<std::uint16_t>(op);
    case Element::kUint32: return loops_of<std::uint32_t>(op);
    case Element::kUint64: return loops_of<std::uint64_t>(op);
    case Element::kHalf: return loops_of<Half>(op);
    case Element::kBfloat16: return loops_of<Bfloat16>(op);
    case Element::kFloat: return loops_of<float>(op);
    case Element::kDouble: return loops_of<double>(op);
    case Element::kLongDouble: return loops_of<long double>(op);
    case Element::kComplexFloat: return loops_of<std::complex<float>>(op);
    case Element::kComplexDouble: return loops_of<std::complex<double>>(op);
  }
  return {};
}

}  // namespace

std::size_t size_of(Element element) {
  switch (element) {
    case Element::kInt8:
    case Element::kUint8: return 1;
    case Element::kInt16:
    case Element::kUint16:
    case Element::kHalf:
    case Element::kBfloat16: return 2;
    case Element::kInt32:
    case Element::kUint32:
    case Element::kFloat: return 4;
    case Element::kInt64:
    case Element::kUint64:
    case Element::kDouble:
    case Element::kComplexFloat: return 8;
    case Element::kComplexDouble: return 16;
    case Element::kLongDouble: return sizeof(long double);
  }
  return 0;
}

std::size_t align_of(Element element) {
  if (element == Element::kComplexFloat) return alignof(std::complex<float>);
  if (element == Element::kComplexDouble) return alignof(std::complex<double>);
  return size_of(element);
}

const char* to_string(Element element) {
  switch (element) {
    case Element::kInt8: return "int8";
    case Element::kInt16: return "int16";
    case Element::kInt32: return "int32";
    case Element::kInt64: return "int64";
    case Element::kUint8: return "uint8";
    case Element::kUint16: return "uint16";
    case Element::kUint32: return "uint32";
    case Element::kUint64: return "uint64";
    case Element::kHalf: return "half";
    case Element::kBfloat16: return "bfloat16";
    case Element::kFloat: return "float";
    case Element::kDouble: return "double";
    case Element::kLongDouble: return "long double";
    case Element::kComplexFloat: return "complex float";
    case Element::kComplexDouble: return "complex double";
  }
  return "?";
}

const char* to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kProd: return "prod";
    case ReduceOp::kMin: return "min";
    case ReduceOp::kMax: return "max";
    case ReduceOp::kAnd: return "and";
    case ReduceOp::kOr: return "or";
    case ReduceOp::kXor: return "xor";
  }
  return "?";
}

Result<HostFold> HostFold::make(Element element, ReduceOp op) {
  const Loops found = loops_of(element, op);
  if (found.combine == nullptr)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("there is no reduction {} of {} (element {}, operator {}): sum, prod, min and "
                    "max take integers and floats; and, or and xor take integers; complex "
                    "numbers have sum and prod",
                    to_string(op), to_string(element), static_cast<int>(element),
                    static_cast<int>(op)));
  HostFold fold;
  fold.element = size_of(element);
  fold.align = align_of(element);
  fold.combine_ = found.combine;
  fold.fill_ = found.fill;
  return fold;
}

}  // namespace weft
