// GPUs, through their vendor's driver, which is found at run time: NVIDIA's through CUDA's
// libcuda.so.1, AMD's through HIP's libamdhip64.so. Nothing here needs either to be built, and
// without a driver every call says so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <weft/device/launch.hpp>
#include <weft/result.hpp>

#include "src/platform/platform.hpp"

namespace weft::gpu {

using Kind = detail::GpuKind;
const char* to_string(Kind kind);  // "CUDA", "HIP"

// A driver: which, and its file; "": the system's.
struct Library {
  Kind kind = Kind::kCuda;
  std::string file;
};

struct Gpu {
  int ordinal = 0;  // as the driver counts in this process (CUDA_VISIBLE_DEVICES and the like)
  std::string name;
  std::string bus;  // "0000:1b:00.0"
  std::size_t bytes = 0;
  int major = 0, minor = 0;  // of its instructions: 9.0 is sm_90, or gfx90a
};

// Whether this process has loaded the driver: a framework did, say.
bool is_loaded(Kind kind);
// The GPUs that the driver shows to this process: how many, and what each is.
Result<int> count_gpus(const Library& library);
Result<std::vector<Gpu>> gpus(const Library& library);
// The GPU that somebody has made current in the calling thread (cudaSetDevice, hipSetDevice); -1:
// none. With HIP, GPU 0 counts as none: it is current from the beginning.
Result<int> current_gpu(const Library& library);
// Makes it current, as those calls do.
Status make_current(const Library& library, int ordinal);
// One per GPU and process, made at the first call; lives as long as the process.
Result<Platform*> platform(const Library& library, int ordinal);

}  // namespace weft::gpu
