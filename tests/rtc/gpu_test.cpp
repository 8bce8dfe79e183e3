// A kernel that NVRTC compiles, on GPUs.
#include <cstdio>

#include "src/platform/gpu/gpu.hpp"
#include "tests/rtc/nvrtc.hpp"
#include "tests/rtc/sources.hpp"
#include "tests/support/gpu_pass.hpp"

#include "src/base/status.hpp"

namespace weft {
namespace {

Status run(const Nvrtc& nvrtc) {
  ASSIGN_OR_RETURN(const auto gpus, gpu::gpus({gpu::Kind::kCuda, ""}));
  const std::string gpu = "sm_" + std::to_string(gpus[0].major) + std::to_string(gpus[0].minor);
  ASSIGN_OR_RETURN(const Compiled kernel, nvrtc.compile(kPass, gpu));
  RETURN_IF_ERROR(run_pass(kernel.ptx, ContextBy::kValue));
  return run_pass(kernel.cubin, ContextBy::kValue);
}

}  // namespace
}  // namespace weft

int main() {
  using namespace weft;
  if (!finds_gpu(gpu::Kind::kCuda)) return kSkipped;
  const auto nvrtc = Nvrtc::open();
  if (!nvrtc) {
    std::printf("skipped: %s\n", std::string(nvrtc.status().text()).c_str());
    return kSkipped;
  }
  const weft::Status status = run(*nvrtc);
  std::printf("%s\n", status.to_string().c_str());
  return status ? 0 : 1;
}
