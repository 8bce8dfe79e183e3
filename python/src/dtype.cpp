#include "python/src/dtype.hpp"

#include <array>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/src/errors.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;

constexpr nb::dlpack::dtype layout(nb::dlpack::dtype_code code, int bits) {
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
}

using Code = nb::dlpack::dtype_code;
constexpr std::array kTypes = {
    DType{"bool", layout(Code::Bool, 8), 1, {}},
    DType{"int8", layout(Code::Int, 8), 1, Element::kInt8},
    DType{"int16", layout(Code::Int, 16), 2, Element::kInt16},
    DType{"int32", layout(Code::Int, 32), 4, Element::kInt32},
    DType{"int64", layout(Code::Int, 64), 8, Element::kInt64},
    DType{"uint8", layout(Code::UInt, 8), 1, Element::kUint8},
    DType{"uint16", layout(Code::UInt, 16), 2, Element::kUint16},
    DType{"uint32", layout(Code::UInt, 32), 4, Element::kUint32},
    DType{"uint64", layout(Code::UInt, 64), 8, Element::kUint64},
    DType{"float16", layout(Code::Float, 16), 2, Element::kHalf},
    DType{"bfloat16", layout(Code::Bfloat, 16), 2, Element::kBfloat16},
    DType{"float32", layout(Code::Float, 32), 4, Element::kFloat},
    DType{"float64", layout(Code::Float, 64), 8, Element::kDouble},
    DType{"complex64", layout(Code::Complex, 64), 8, Element::kComplexFloat},
    DType{"complex128", layout(Code::Complex, 128), 16, Element::kComplexDouble},
    DType{"float8_e4m3fn", layout(Code::Float8_E4M3FN, 8), 1, {}},
    DType{"float8_e5m2", layout(Code::Float8_E5M2, 8), 1, {}},
};

std::string all_names() {
  std::string names;
  for (const DType& each : kTypes)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  return names;
}

}  // namespace

const DType& DType::bits() const { return *dtype_named(fmt::format("uint{}", 8 * bytes)); }

const DType* dtype_named(std::string_view name) {
  for (const DType& each : kTypes)
    if (name == each.name) return &each;
  return nullptr;
}

const DType* dtype_of(nb::dlpack::dtype wanted) {
  for (const DType& each : kTypes)
    if (wanted == each.dlpack) return &each;
  return nullptr;
}

const DType& dtype_from(nb::handle given) {
  // torch.float32 prints as that, numpy.dtype and a name as float32; numpy.float32 is a class,
  // whose name that is, as are Python's own.
  std::string name = nb::isinstance<nb::type_object>(given)
                         ? nb::cast<std::string>(given.attr("__name__"))
                         : nb::cast<std::string>(nb::str(given));
  constexpr std::string_view kTorch = "torch.";
  if (name.starts_with(kTorch)) name.erase(0, kTorch.size());
  if (name == "float") name = "float64";
  if (name == "int") name = "int64";
  const DType* const found = dtype_named(name);
  if (found == nullptr) raise_argument(fmt::format("dtype {} is none of {}", name, all_names()));
  return *found;
}

}  // namespace weft::python
