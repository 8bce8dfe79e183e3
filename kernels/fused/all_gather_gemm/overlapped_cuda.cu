// On NVIDIA's GPUs: two kernels side by side, on the caller's stream the GEMM, on another one
// the push, which has SMs that the GEMM leaves alone.
#include <cuda_runtime.h>

#include <fmt/format.h>

#include <weft/device.hpp>

#include "kernels/core/status.hpp"
#include "kernels/fused/all_gather_gemm/overlapped_target.hpp"
#include "kernels/fused/all_gather_gemm/push.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/launch_grid_cuda.hpp"

namespace weft::kernels::ag_gemm {
namespace {

using gemm::failed;

// So much of a block is under way at a time. Alone, 64 KiB do; beside a GEMM, memory is far
// away.
constexpr unsigned kStageBytes = (208 << 10) + 128;
// Blocks of the GEMM come in pairs, and a pair runs in one part of the GPU (GPC).
// Blocks that push go in pairs as well: single ones would leave single SMs over in many parts, and
// the last pairs of the GEMM would begin when the push has ended.
constexpr int kPair = 2;

__global__ void nothing() {}

__global__ void __launch_bounds__(kPushThreads)
    push_kernel([[maybe_unused]] const cuda::Push push) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  push();
#else
  __trap();  // compiled for another GPU as well; hosts do not launch it there
#endif
}

class GpuOverlapped : public OverlappedTarget {
 public:
  GpuOverlapped(const gemm::Gpu& gpu, std::unique_ptr<gemm::GpuBackend> gemm, unsigned push_blocks)
      : gpu_(gpu), gemm_(std::move(gemm)), push_blocks_(push_blocks) {}
  ~GpuOverlapped() override {  // at exit, the driver may be gone
    if (began_ != nullptr) (void)cudaEventDestroy(began_);
    if (pushed_ != nullptr) (void)cudaEventDestroy(pushed_);
    if (beside_ != nullptr) (void)cudaStreamDestroy(beside_);
  }

  Status start() {
    int least = 0, greatest = 0;
    RETURN_IF_FAILED("asking for priorities", cudaDeviceGetStreamPriorityRange(&least, &greatest));
    // The push comes first: others wait for its blocks.
    RETURN_IF_FAILED("creating a stream",
                     cudaStreamCreateWithPriority(&beside_, cudaStreamNonBlocking, greatest));
    RETURN_IF_FAILED("creating an event",
                     cudaEventCreateWithFlags(&began_, cudaEventDisableTiming));
    RETURN_IF_FAILED("creating an event",
                     cudaEventCreateWithFlags(&pushed_, cudaEventDisableTiming));
    RETURN_IF_FAILED("preparing a kernel", gemm::prepare(entry(), kStageBytes));
    // A stream's first kernel may wait for whatever runs.
    nothing<<<1, 1, 0, beside_>>>();
    RETURN_IF_FAILED("starting a stream", cudaGetLastError());
    RETURN_IF_FAILED("starting a stream", cudaStreamSynchronize(beside_));
    return Status::ok();
  }

  Status run(const PushCall& push, Stream stream, void* c, const void* a, const void* b) override {
    RETURN_IF_ERROR(gemm::check_current(gpu_));
    auto* const native = static_cast<cudaStream_t>(stream);
    RETURN_IF_FAILED("recording an event", cudaEventRecord(began_, native));
    RETURN_IF_FAILED("waiting for an event", cudaStreamWaitEvent(beside_, began_, 0));
    RETURN_IF_ERROR(run_push(push));
    const Status multiplied = gemm_->run_gathering(stream, c, a, b, push.gather_buffer);
    RETURN_IF_FAILED("recording an event", cudaEventRecord(pushed_, beside_));
    RETURN_IF_FAILED("waiting for an event", cudaStreamWaitEvent(native, pushed_, 0));
    return multiplied;
  }
  std::string describe() const override { return gemm_->describe(); }

 private:
  static const void* entry() { return reinterpret_cast<const void*>(&push_kernel); }
  Status run_push(const PushCall& push) const {
    cuda::Push argument{push, kStageBytes};
    RETURN_IF_FAILED("launching a kernel",
                     gemm::launch(entry(),
                                  {static_cast<int>(push_blocks_), kPair, kPushThreads,
                                   static_cast<int>(kStageBytes), beside_},
                                  argument));
    return Status::ok();
  }

  const gemm::Gpu gpu_;
  const std::unique_ptr<gemm::GpuBackend> gemm_;
  const unsigned push_blocks_;
  cudaStream_t beside_ = nullptr;
  cudaEvent_t began_ = nullptr, pushed_ = nullptr;
};

}  // namespace

Result<int> gpu_num_sms(const GemmOptions& options) { return gemm::num_sms_of_sm90(options); }

Result<std::unique_ptr<OverlappedTarget>> make_overlapped_sm90(const GemmProblem& problem,
                                                               int segments, unsigned push_blocks,
                                                               const GemmOptions& options) {
  gemm::Gpu gpu;
  ASSIGN_OR_RETURN(gpu, gemm::current_gpu());
  GemmOptions rest = options;
  ASSIGN_OR_RETURN(rest.num_sms, gpu_num_sms(options));
  rest.num_sms -= static_cast<int>(push_blocks);
  std::unique_ptr<gemm::GpuBackend> gemm;
  ASSIGN_OR_RETURN(gemm, gemm::make_gathering_sm90(gpu, problem, rest, segments));
  auto made = std::make_unique<GpuOverlapped>(gpu, std::move(gemm), push_blocks);
  RETURN_IF_ERROR(made->start());
  return std::unique_ptr<OverlappedTarget>(std::move(made));
}

}  // namespace weft::kernels::ag_gemm
