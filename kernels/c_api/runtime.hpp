// Behind weft_runtime_t, and how a Status becomes an int.
#pragma once

#include <weft/kernels.h>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>

struct weft_runtime_t {
  weft::Runtime runtime;
};

namespace weft::kernels::c_api {

// Keeps the text for weft_kernels_error().
inline int code_of(Status status) { return static_cast<int>(report(std::move(status)).code()); }

// One per target, from one source (stream.cpp).
using Synchronize = Status(Stream stream);
namespace cpu {
Synchronize synchronize_stream;
}
namespace cuda {
Synchronize synchronize_stream;
}

}  // namespace weft::kernels::c_api
