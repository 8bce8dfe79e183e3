// The copy of rows, compiled for each target.
#include <weft/device.hpp>

#include "kernels/fused/all_gather_gemm/call.hpp"
#include "kernels/fused/all_gather_gemm/push.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {
namespace {

constexpr unsigned kThreads = WEFT_TARGET_CPU ? 2 : kCopyThreads;  // a laptop has no more

}  // namespace

Status run_copy(const CopyCall& call, unsigned blocks, Stream stream) {
  return dev::launch({blocks, kThreads, 0}, CopyGathered{call}, stream);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
