// The code for GPUs of the kernels that libweft brings along (host/kernel).
#pragma once

#include <cstddef>
#include <span>

namespace weft::gpu {

// What the driver loads as a module; nothing in a libweft that was built without CUDA's compiler.
std::span<const std::byte> kernel_image();

}  // namespace weft::gpu
