#include <weft/dev/state.hpp>
#include <weft/version.hpp>

#include <fmt/format.h>

#include "host/info/sections.hpp"

// Set by host/info/CMakeLists.txt from how the build was configured.
#if !defined(WEFT_BUILD_TYPE) || !defined(WEFT_BUILD_SANITIZE) || !defined(WEFT_BUILD_CUDA) || \
    !defined(WEFT_BUILD_HIP)
#error "WEFT_BUILD_* are not defined"
#endif

namespace weft::info {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

Line gpu_target(const char* name, const char* architectures, const char* mend) {
  const std::string built = architectures;
  if (built.empty()) return missing(name, "device sources are not compiled for it", mend);
  return there(name, "device sources are compiled for " + built);
}

}  // namespace

Section build_section() {
  const std::string sanitizers = WEFT_BUILD_SANITIZE;
  Section section{"build", {}};
  section.lines = {
    fact("version", WEFT_VERSION),
    fact("device interface", std::to_string(kDeviceAbi), kDeviceAbi),
    fact("compiler", compiler()),
    fact("type", WEFT_BUILD_TYPE),
    fact("sanitizers", sanitizers.empty() ? "none" : sanitizers),
    there("cpu target", "kernels run as grids of host threads"),
    gpu_target("cuda target", WEFT_BUILD_CUDA, "configure with -DWEFT_CUDA=ON (needs nvcc)"),
    gpu_target("hip target", WEFT_BUILD_HIP, "configure with -DWEFT_HIP=ON (needs clang 19)"),
#if WEFT_HAVE_HWLOC
    there("hwloc", "topology through hwloc"),
#else
    missing("hwloc", "topology is read from /proc and /sys",
            "install libhwloc-dev and configure again"),
#endif
  };
  return section;
}

}  // namespace weft::info
