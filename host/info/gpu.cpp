#include "host/info/gpu.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace weft::info {
namespace {

struct Driver {
  const char *name, *library, *init, *count, *install;
};

constexpr Driver kCuda{"cuda gpus", "libcuda.so.1", "cuInit", "cuDeviceGetCount",
                       "install NVIDIA's driver; in a container, pass the GPUs in (--gpus all)"};
constexpr Driver kHip{"hip gpus", "libamdhip64.so", "hipInit", "hipGetDeviceCount",
                      "install AMD's ROCm runtime; in a container, pass /dev/kfd and /dev/dri in"};

constexpr const char* kNotYet =
    "this version compiles kernels for it but runs them on host threads only";

// Through the driver's own C functions, found at run time: all that a count needs.
Line probe(const Driver& driver) {
  void* library = ::dlopen(driver.library, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return missing(driver.name, fmt::format("{} is not found; {}", driver.library, kNotYet),
                   driver.install);
  }
  // Never closed: drivers start threads that live on.
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, driver.init));
  const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(library, driver.count));
  int devices = 0;
  if (init == nullptr || count == nullptr) {
    return missing(driver.name,
                   fmt::format("{} lacks {} or {}", driver.library, driver.init, driver.count),
                   driver.install);
  }
  if (const int error = init(0); error != 0) {
    return missing(driver.name,
                   fmt::format("{}: {}(0) gives error {}", driver.library, driver.init, error),
                   driver.install);
  }
  if (const int error = count(&devices); error != 0 || devices == 0) {
    return missing(driver.name, fmt::format("{}: no device (error {})", driver.library, error),
                   driver.install);
  }
  return missing(driver.name, fmt::format("{} found; {}", devices, kNotYet));
}

}  // namespace

Line cuda() { return probe(kCuda); }
Line hip() { return probe(kHip); }

}  // namespace weft::info
