// The driver that tests of GPU memory take: a fake one (tests/support/fake_gpu), HIP's with
// FAKE_GPU_KIND=hip, else CUDA's; compiled for GPUs, the driver of their kernels.
#pragma once

#include <cstdlib>
#include <string>

#include <weft/options.hpp>
#include <weft/runtime.hpp>
#include <weft/target.hpp>

#include "src/base/dynlib.hpp"
#include "src/platform/gpu/gpu.hpp"
#include "src/platform/platform.hpp"
#include "tests/support/pe_group.hpp"

namespace weft {

inline gpu::Library driver() {
#ifdef FAKE_CUDA_LIBRARY
  const char* const kind = std::getenv("FAKE_GPU_KIND");
  if (kind != nullptr && std::string(kind) == "hip") return {gpu::Kind::kHip, FAKE_HIP_LIBRARY};
  return {gpu::Kind::kCuda, FAKE_CUDA_LIBRARY};
#else
  return {WEFT_TARGET_HIP ? gpu::Kind::kHip : gpu::Kind::kCuda, ""};
#endif
}

// The fake driver of this process fails in such calls: FAKE_GPU_FAIL's words.
inline void fail_in(const char* calls) {
  ::setenv("FAKE_GPU_FAIL", calls, 1);
  const std::string file = driver().file;
  void (*reload)() = nullptr;
  if (!Dynlib::open({&file, 1})->find("fake_gpu_reload", reload).is_ok()) std::abort();
  reload();
  ::unsetenv("FAKE_GPU_FAIL");
}

inline std::string& library_of(Options& options) {
  return driver().kind == gpu::Kind::kHip ? options.hip_library : options.cuda_library;
}

// The platform whose streams OnStream takes on this PE.
inline Platform& platform_of(const Runtime& rt) {
  if (rt.gpu() < 0) return cpu_platform();
  return **gpu::platform(driver(), rt.gpu());
}

// Whether processes share a real GPU: it gives each a slice of time, so that what one tells the
// next takes milliseconds. Tests of many rounds make fewer then.
inline bool take_turns(const PeGroup& group) {
  if (WEFT_TARGET_CPU || group.pes != Pes::kProcesses) return false;
  const Result<int> gpus = gpu::count_gpus(driver());
  return gpus.is_ok() && group.npes > *gpus;
}

// As WEFT_GPU_TRANSPORTS and WEFT_GPU_RDMA say, so that the same tests go by another way: by ib
// through a fake library, which other processes do not see, and by ofi within this host.
inline void choose_transports(Options& options) {
  const char* const list = std::getenv("WEFT_GPU_TRANSPORTS");
  const char* const rdma = std::getenv("WEFT_GPU_RDMA");
  if (list != nullptr) options.gpu_transports = list;
  if (rdma != nullptr) options.gpu_rdma = rdma;
#ifdef FAKE_VERBS_LIBRARY
  options.ib_library = FAKE_VERBS_LIBRARY;
#endif
  options.ofi_domain = "lo";
}
// Whether that way, and the driver, let a GPU load and store what another one has.
inline bool maps_other_gpus(const Options& options) {
  return options.gpu_transports.find("p2p") != std::string::npos &&
         std::getenv("FAKE_GPU_NO_PEER") == nullptr;
}

}  // namespace weft
