// How a row makes its test: the object, then its symmetric buffers.
#pragma once

#include <memory>

#include "perftest/registry.hpp"

namespace weft::perf {

// T(job, point) and Status T::allocate().
template <class T>
Result<std::unique_ptr<Test>> make(Job& job, const Point& point) {
  auto test = std::make_unique<T>(job, point);
  RETURN_IF_ERROR(test->allocate());
  return std::unique_ptr<Test>(std::move(test));
}

}  // namespace weft::perf
