// The code for GPUs of the kernels that libweft brings along (host/kernel).
#pragma once

#include <cstddef>
#include <span>

#include "src/platform/gpu/gpu.hpp"

namespace weft::gpu {

// The image that the driver loads as a module; empty in a libweft that was built without its
// compiler.
std::span<const std::byte> kernel_image(Kind kind);

}  // namespace weft::gpu
