// Status inside the library: the two macros that pass an error on, and the caller's name.
#pragma once

#include <string_view>

#include <weft/result.hpp>

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

namespace weft {

// The name that a failure's text gives the routine: what the user called (CallerName), else
// `routine`.
std::string_view caller_or(std::string_view routine) noexcept;
// The same for an argument: under a CallerName, what OpenSHMEM and NVSHMEM call it.
std::string_view caller_argument(std::string_view argument) noexcept;

}  // namespace weft
