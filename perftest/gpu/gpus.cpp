#include "perftest/gpu/gpus.hpp"

namespace weft::perf {

std::string no_gpu() {
  int gpus = 0;
  const cudaError_t error = cudaGetDeviceCount(&gpus);
  if (error == cudaSuccess && gpus > 0) return "";
  return error == cudaSuccess ? "no GPU" : cudaGetErrorString(error);
}

std::string gpu_name(int gpu) {
  cudaDeviceProp facts{};
  if (cudaGetDeviceProperties(&facts, gpu) != cudaSuccess) return "";
  return std::string(facts.name) + ", " + std::to_string(facts.multiProcessorCount) + " SMs";
}

}  // namespace weft::perf
