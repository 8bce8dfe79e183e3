// make_gpu(): the kernels of sm_90a on the current GPU where it is one, else cuBLASLt; where that
// is not found, or where they are asked for, the kernels of sm_80.
#include <cuda_runtime.h>

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/gemm/gpu_cuda.hpp"
#include "kernels/gemm/plan_sm80.hpp"

namespace weft::kernels::gemm {

Status failed(const char* what, cudaError_t error) {
  return Status::error(Code::kInternal,
                       fmt::format("Gemm: {}: {}", what, cudaGetErrorString(error)));
}

Result<Gpu> current_gpu() {
  Gpu gpu;
  int major = 0, minor = 0;
  RETURN_IF_FAILED("asking for the current GPU", cudaGetDevice(&gpu.number));
  RETURN_IF_FAILED("asking what the GPU is",
                   cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu.number));
  RETURN_IF_FAILED("asking what the GPU is",
                   cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu.number));
  RETURN_IF_FAILED(
      "asking how large the GPU is",
      cudaDeviceGetAttribute(&gpu.num_sms, cudaDevAttrMultiProcessorCount, gpu.number));
  gpu.capability = 10 * major + minor;
  return gpu;
}

int num_sms_of(const Gpu& gpu, const GemmOptions& options) {
  return options.num_sms == 0 ? gpu.num_sms : std::min(options.num_sms, gpu.num_sms);
}

Status ask_clusters(cudaError_t (*count)(int size, int* clusters), DeviceModel* device) {
  for (int size = 1; size <= kMostSplits; ++size) {
    int clusters = 0;
    RETURN_IF_FAILED("asking how many clusters run at a time", count(size, &clusters));
    device->clusters[static_cast<std::size_t>(size)] = std::min(clusters, device->num_sms / size);
  }
  return Status::ok();
}

Status check_current(const Gpu& gpu) {
  int now = -1;
  RETURN_IF_FAILED("asking for the current GPU", cudaGetDevice(&now));
  if (now == gpu.number) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       fmt::format("Gemm: it was created on GPU {}, and GPU {} is current; call "
                                   "cudaSetDevice({}) before",
                                   gpu.number, now, gpu.number));
}

Status GpuBackend::clear(Stream stream, void* c, int m) {
  RETURN_IF_ERROR(check_current(gpu_));
  const std::size_t size = bytes_of(p_.dtype);
  RETURN_IF_FAILED(
      "filling c with zeros",
      cudaMemset2DAsync(c, static_cast<std::size_t>(p_.ldc) * size, 0,
                        static_cast<std::size_t>(p_.n) * size, static_cast<std::size_t>(m),
                        static_cast<cudaStream_t>(stream)));
  return Status::ok();
}

bool has_sm90(const Gpu& gpu) { return gpu.capability == 90 && WEFT_HAS_SM90A; }

Result<std::unique_ptr<Backend>> make_gpu(const GemmProblem& problem, const GemmOptions& options) {
  Gpu gpu;
  ASSIGN_OR_RETURN(gpu, current_gpu());
  const bool asks_cublas = options.backend == GemmBackend::kCublas;
  const bool is_e4m3 = problem.dtype == DType::kFloat8E4m3;
  if (is_e4m3 && (asks_cublas || !has_sm90(gpu))) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("Gemm: float8_e4m3 has kernels for GPUs of compute capability 9.0 alone (90a "
                    "among WEFT_CUDA_ARCHITECTURES; this GPU has {}.{}), and cuBLAS does not stand "
                    "in for them; leave options.backend kAuto there, or use bfloat16",
                    gpu.capability / 10, gpu.capability % 10));
  }
  if (asks_cublas) return make_cublas(gpu, problem, options);
  const bool kernels = options.backend == GemmBackend::kKernels;
  if (kernels && gpu.capability < 80) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("Gemm: its kernels are for GPUs of compute capability 8.0 and more, and "
                    "this one has {}.{}; leave options.backend kAuto",
                    gpu.capability / 10, gpu.capability % 10));
  }
  if (!is_e4m3 && sm80::is_name(options.tile)) return make_sm80(gpu, problem, options);
  if (has_sm90(gpu)) {
    std::unique_ptr<GpuBackend> made;
    ASSIGN_OR_RETURN(made, make_sm90(gpu, problem, options));
    return std::unique_ptr<Backend>(std::move(made));
  }
  if (kernels && gpu.capability == 90) {
    return Status::error(
        Code::kUnsupported,
        "Gemm: this libweft_kernels was built without kernels for this GPU: configure "
        "Weft with 90a among WEFT_CUDA_ARCHITECTURES, or leave options.backend kAuto");
  }
  if (kernels) return make_sm80(gpu, problem, options);
  auto theirs = make_cublas(gpu, problem, options);
  if (gpu.capability < 80 || !theirs.status().is(Code::kUnsupported)) return theirs;
  return make_sm80(gpu, problem, options);
}

}  // namespace weft::kernels::gemm
