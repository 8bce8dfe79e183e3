// Result: a value, or why there is none.
#pragma once

#include <optional>
#include <utility>

#include <weft/status.hpp>
#include <weft/target.hpp>

namespace weft {

// A value, or the Status that says why there is none.
template <class T>
class WEFT_NODISCARD Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: return value; reads best
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: return status; reads best

  bool is_ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return is_ok(); }
  const Status& status() const& noexcept { return status_; }
  Status status() && noexcept { return std::move(status_); }

  // Only after is_ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T value_or(T other) const& { return value_ ? *value_ : std::move(other); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace weft
