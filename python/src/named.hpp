// Arguments that are one of some names.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "python/src/errors.hpp"

namespace weft::python {

// The value of `name` in a table of names; raises, and says which there are.
template <class Value, std::size_t kCount>
Value named(const char* argument, const std::string& name,
            const std::pair<const char*, Value> (&table)[kCount]) {
  std::string names;
  for (const auto& [each, value] : table) {
    if (name == each) return value;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each);
  }
  raise_argument(fmt::format("argument {} is \"{}\"; it is one of {}", argument, name, names));
}

}  // namespace weft::python
