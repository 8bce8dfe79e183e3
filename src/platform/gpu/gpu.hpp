// NVIDIA GPUs, through the driver: libcuda.so.1, found at run time. Nothing here needs CUDA to be
// built, and without a driver every call says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <weft/status.hpp>

#include "src/platform/platform.hpp"

namespace weft::gpu {

struct Gpu {
  int ordinal = 0;  // as CUDA counts in this process (CUDA_VISIBLE_DEVICES)
  std::string name;
  std::string bus;  // "0000:1b:00.0"
  std::size_t bytes = 0;
  int major = 0, minor = 0;  // compute capability
};

// What the driver shows to this process. `library` names the driver's file; "": the system's.
Result<std::vector<Gpu>> gpus(const std::string& library);
// The GPU that is current in the calling thread (cudaSetDevice, cuCtxSetCurrent); -1: none.
Result<int> current_gpu(const std::string& library);
// Makes it current, as cudaSetDevice does.
Status make_current(const std::string& library, int ordinal);
// One per GPU and process, made at the first call; lives as long as the process.
Result<Platform*> platform(const std::string& library, int ordinal);

}  // namespace weft::gpu
