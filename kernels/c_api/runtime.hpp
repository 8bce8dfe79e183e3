// Behind weft_runtime_t and weft_unique_id_t, and how a Status becomes an int.
#pragma once

#include <string>

#include <fmt/format.h>

#include <weft/kernels.h>
#include <weft/runtime.hpp>

struct weft_runtime_t {
  weft::Runtime runtime;
};
struct weft_unique_id_t {
  weft::UniqueId id;
  std::string text;
};

namespace weft::kernels::c_api {

// Keeps the text for weft_kernels_error().
inline int code_of(Status status) { return static_cast<int>(report(std::move(status)).code()); }

inline Status refuse_null(const char* name, const char* argument) {
  return Status::error(Code::kInvalidArgument, fmt::format("{}: {} is null", name, argument));
}

}  // namespace weft::kernels::c_api
