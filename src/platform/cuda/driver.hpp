// CUDA's driver: libcuda.so.1, found at run time.
#pragma once

#include <memory>
#include <string>

#include "src/platform/gpu/driver.hpp"

namespace weft::cuda {

// `file`: "" is the system's. Not started yet.
Result<std::unique_ptr<const gpu::Driver>> load(const std::string& file);
bool is_loaded();

}  // namespace weft::cuda
