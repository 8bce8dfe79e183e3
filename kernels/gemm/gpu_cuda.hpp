// The common part of the backends on NVIDIA's GPUs.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "kernels/core/status.hpp"
#include "kernels/gemm/backend.hpp"
#include "kernels/gemm/plan.hpp"
#include "kernels/protocol/all_gather_buffer.hpp"

#define RETURN_IF_FAILED(what, call)                                \
  do {                                                              \
    if (const cudaError_t error_ = (call); error_ != cudaSuccess) { \
      return ::weft::kernels::gemm::failed(what, error_);           \
    }                                                               \
  } while (false)

namespace weft::kernels::gemm {

Status failed(const char* what, cudaError_t error);

struct Gpu {
  int number = 0;
  int capability = 0;  // 90: compute capability 9.0
  int num_sms = 0;
};
Result<Gpu> current_gpu();
// SMs of the GPU that an operator may take.
int num_sms_of(const Gpu& gpu, const GemmOptions& options);
// SMs of the current GPU that kernels of sm_90a may take; 0: they are not for it, or not wanted.
Result<int> num_sms_of_sm90(const GemmOptions& options);
// Clusters of `first` to `last` blocks that run at a time on the device model's SMs; `count` says
// how many of a kernel do on the GPU.
Status ask_clusters(cudaError_t (*count)(int size, int* clusters), DeviceModel* device,
                    int first = 1, int last = kMostSplits);
// These SMs, and their clusters of `any`, a KernelEntry.
template <class Entry>
Result<DeviceModel> device_model_of(const GemmOptions& options, const Entry& any, int first,
                                    int last) {
  DeviceModel device;
  ASSIGN_OR_RETURN(device.num_sms, num_sms_of_sm90(options));
  if (device.num_sms == 0) return device;
  RETURN_IF_FAILED("preparing a kernel", any.prepare());
  RETURN_IF_ERROR(ask_clusters(any.clusters, &device, first, last));
  return device;
}
// The GPU must be current when the operator is called.
Status check_current(const Gpu& gpu);

class GpuBackend : public Backend {
 public:
  GpuBackend(const Gpu& gpu, const GemmProblem& problem) : gpu_(gpu), p_(problem) {}
  Status clear(Stream stream, void* c, int m) override;
  // The segments of C: the rows of A are gathered while the GEMM runs, mine are at `a`.
  virtual Status run_gathering(Stream, void* /*c*/, const void* /*a*/, const void* /*b*/,
                               const AllGatherBuffer&) {
    return Status::error(Code::kUnsupported, "Gemm: this backend gathers no rows");
  }

 protected:
  const Gpu gpu_;
  const GemmProblem p_;
};

// The kernels of sm_90a are there, and for this GPU.
bool has_sm90(const Gpu& gpu);
// The kernels of sm_90a, for run_gathering(); problem.m: rows of a segment.
Result<std::unique_ptr<GpuBackend>> make_gathering_sm90(const Gpu& gpu, const GemmProblem& problem,
                                                        const GemmOptions& options, int segments);
// A back end refuses calls that are for another row of the table of back ends.
Status refuse(const char* why);

}  // namespace weft::kernels::gemm
