// The kernels beside the product, compiled for each target.
#include <weft/device.hpp>

#include "kernels/ag_gemm/call.hpp"
#include "kernels/ag_gemm/push.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {
namespace {

// A laptop has no more.
constexpr unsigned kThreads = WEFT_TARGET_CPU ? 2 : kPushThreads;
// What is under way at a time. Alone, 64 KiB of each block do; beside a product, memory is far away.
constexpr unsigned kStageBytes = WEFT_TARGET_CPU ? 0 : (208 << 10) + 128;

}  // namespace

Status run_push(const PushCall& call, unsigned blocks, Stream stream) {
  return dev::launch({blocks, kThreads, kStageBytes}, Push{call, kStageBytes}, stream);
}

Status run_copy(const CopyCall& call, unsigned blocks, Stream stream) {
  return dev::launch({blocks, kThreads, 0}, CopyRows{call}, stream);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
