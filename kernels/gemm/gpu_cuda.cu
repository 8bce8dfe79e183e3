// The common part of the back ends on NVIDIA's GPUs.
#include <cuda_runtime.h>

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/gemm/backend_table.hpp"
#include "kernels/gemm/gpu_cuda.hpp"

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

Result<int> num_sms_of_sm90(const GemmOptions& options) {
  Gpu gpu;
  ASSIGN_OR_RETURN(gpu, current_gpu());
  if (options.backend == GemmBackend::kCublas || !has_sm90(gpu)) return 0;
  return num_sms_of(gpu, options);
}

Status ask_clusters(cudaError_t (*count)(int size, int* clusters), DeviceModel* device, int first,
                    int last) {
  for (int size = first; size <= last; ++size) {
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

Result<Device> current_device(Target target) {
  Device device{target};
  if (target == Target::kCpu) return device;
  Gpu gpu;
  ASSIGN_OR_RETURN(gpu, current_gpu());
  device.capability = gpu.capability;
  return device;
}

Status refuse(const char* why) { return Status::error(Code::kUnsupported, why); }

}  // namespace weft::kernels::gemm
