// Behind weft_runtime_t, and how a Status becomes an int.
#pragma once

#include <fmt/format.h>

#include <weft/kernels.h>
#include <weft/runtime.hpp>

struct weft_runtime_t {
  weft::Runtime runtime;
};

namespace weft::kernels::c_api {

// Keeps the text for weft_kernels_error().
inline int code_of(Status status) { return static_cast<int>(report(std::move(status)).code()); }

inline Status refuse_null(const char* name, const char* argument) {
  return Status::error(Code::kInvalidArgument, fmt::format("{}: {} is null", name, argument));
}

}  // namespace weft::kernels::c_api
