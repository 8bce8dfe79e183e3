// Failures of libweft as exceptions of weft._errors.
#pragma once

#include <utility>

#include <nanobind/nanobind.h>

#include <weft/result.hpp>
#include <weft/status.hpp>

namespace weft::python {

// With the interpreter's lock held.
[[noreturn]] void raise(const Status& failure);
[[noreturn]] void raise_argument(const std::string& text);

inline void check(const Status& status) {
  if (!status) raise(status);
}
template <class T>
T value_of(Result<T> result) {
  if (!result) raise(result.status());
  return std::move(result).value();
}

// `body()`, which may wait for other PEs, while other threads of the interpreter run.
template <class Body>
auto unlocked(Body body) {
  const nanobind::gil_scoped_release others;
  return body();
}

}  // namespace weft::python
