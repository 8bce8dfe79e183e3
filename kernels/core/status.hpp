// The two macros that pass an error on (as src/base/status.hpp has them; weft::kernels uses nothing
// but the public API).
#pragma once

#include <utility>

#include <weft/result.hpp>

#ifndef RETURN_IF_ERROR
#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                              \
  do {                                                                           \
    if (::weft::Status status_ = (expression); !status_.is_ok()) return status_; \
  } while (false)

#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_INNER(WEFT_CONCAT(result_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                              \
  if (!result.is_ok()) return std::move(result).status();  \
  target = std::move(result).value()
#endif
