#include "host/info/gpu.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft::info {
namespace {

// What a PE's heap needs of its GPU: address space, memory in it, a handle for other processes.
Status try_memory(const std::string& library, int ordinal) {
  ASSIGN_OR_RETURN(Platform* const gpu, gpu::platform(library, ordinal));
  ASSIGN_OR_RETURN(const Memory range, gpu->reserve(gpu->granularity()));
  ASSIGN_OR_RETURN(const Memory chunk, gpu->commit(range.range(), {}));
  return gpu->share(chunk).status();
}

std::string describe(const gpu::Gpu& gpu) {
  return fmt::format("{} (sm_{}{}, {} GiB, {})", gpu.name, gpu.major, gpu.minor, gpu.bytes >> 30,
                     gpu.bus);
}

}  // namespace

Line cuda(const Options& options) {
  constexpr const char* kName = "cuda gpus";
  const auto gpus = gpu::gpus(options.cuda_library);
  if (!gpus) return missing(kName, std::string(gpus.status().text()));
  std::string found;
  for (const gpu::Gpu& gpu : *gpus) {
    const Status tried = try_memory(options.cuda_library, gpu.ordinal);
    if (!tried.is_ok()) return missing(kName, std::string(tried.text()));
    found += fmt::format("{}{}: {}", found.empty() ? "" : "; ", gpu.ordinal, describe(gpu));
  }
  return there(kName, found + "; symmetric memory and its sharing tried on each");
}

// Through the runtime's own C functions, found at run time: all that a count needs.
Line hip() {
  constexpr const char* kName = "hip gpus";
  constexpr const char* kInstall =
      "install AMD's ROCm runtime; in a container, pass /dev/kfd and /dev/dri in";
  constexpr const char* kNotYet =
      "this version compiles kernels for it but runs them on host threads only";
  void* const library = ::dlopen("libamdhip64.so", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    return missing(kName, fmt::format("libamdhip64.so is not found; {}", kNotYet), kInstall);
  // Never closed: drivers start threads that live on.
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "hipInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(library, "hipGetDeviceCount"));
  if (init == nullptr || count == nullptr)
    return missing(kName, "libamdhip64.so lacks hipInit or hipGetDeviceCount", kInstall);
  if (const int error = init(0); error != 0)
    return missing(kName, fmt::format("libamdhip64.so: hipInit(0) gives error {}", error),
                   kInstall);
  int devices = 0;
  if (const int error = count(&devices); error != 0 || devices == 0)
    return missing(kName, fmt::format("libamdhip64.so: no device (error {})", error), kInstall);
  return missing(kName, fmt::format("{} found; {}", devices, kNotYet));
}

}  // namespace weft::info
