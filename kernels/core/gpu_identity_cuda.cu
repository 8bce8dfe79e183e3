#include <cuda_runtime.h>

#include <functional>
#include <string>
#include <string_view>

#include "kernels/core/gpu_identity.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {

Result<GpuIdentity> identity_of_current_gpu() {
  int gpu = 0;
  cudaDeviceProp properties{};
  cudaError_t error = cudaGetDevice(&gpu);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, gpu);
  if (error != cudaSuccess)
    return Status::error(Code::kInternal,
                         std::string("asking what the GPU is: ") + cudaGetErrorString(error));
  const std::string_view uuid(properties.uuid.bytes, sizeof(properties.uuid.bytes));
  return GpuIdentity{std::hash<std::string_view>()(uuid), properties.multiProcessorCount,
                     properties.major >= 9};
}

}  // namespace weft::kernels
