// Checks of Status and Result that print the text of a failure.
#pragma once

#include <gtest/gtest.h>

#include <ostream>

#include <weft/result.hpp>

namespace weft {

inline const Status& status_of(const Status& status) { return status; }
template <class T>
const Status& status_of(const Result<T>& result) {
  return result.status();
}

inline ::testing::AssertionResult is_ok(const char* expression, const Status& status) {
  if (status.is_ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << expression << "\n  is " << status.to_string();
}

inline ::testing::AssertionResult has_code(const char* expression, const char*,
                                           const Status& status, Code code) {
  if (status.code() == code) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << expression << "\n  is " << status.to_string() << "\n  not " << to_string(code);
}

// How googletest prints them.
inline void PrintTo(const Status& status, std::ostream* out) { *out << status.to_string(); }
inline void PrintTo(Code code, std::ostream* out) { *out << to_string(code); }

}  // namespace weft

#define EXPECT_OK(expression) EXPECT_PRED_FORMAT1(::weft::is_ok, ::weft::status_of(expression))
#define ASSERT_OK(expression) ASSERT_PRED_FORMAT1(::weft::is_ok, ::weft::status_of(expression))
// A failure with that code: EXPECT_CODE(rt.free(p), Code::kInvalidArgument).
#define EXPECT_CODE(expression, code) \
  EXPECT_PRED_FORMAT2(::weft::has_code, ::weft::status_of(expression), code)
