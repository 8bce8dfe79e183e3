// Element types by their names in numpy and torch.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nanobind/ndarray.h>

#include <weft/collective.hpp>

namespace weft::python {

struct DType {
  const char* name;
  nanobind::dlpack::dtype dlpack;
  std::size_t bytes;
  std::optional<Element> element;  // what reductions take it for; none: they do not

  const DType& bits() const;  // the unsigned integer of that size
};

// Null if there is none of that name or layout. The result lives for ever.
const DType* dtype_named(std::string_view name);
const DType* dtype_of(nanobind::dlpack::dtype layout);

// The type that a caller means: a name, or an object of numpy or torch. Raises for others.
const DType& dtype_from(nanobind::handle given);

}  // namespace weft::python
