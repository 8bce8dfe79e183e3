// weft-gpu-start-floor: what CUDA takes to start, without Weft. Started as weft-gpu-perf --start-up
// is: by weft-run, one process for each GPU, and each prints the seconds from NS until a first,
// empty kernel has ended.
//
//   weft-run -n 8 weft-gpu-start-floor NS
#include <cstdio>
#include <cstdlib>

#include "perftest/gpu/rows.hpp"

using namespace weft::perf::gpu;

namespace {

__global__ void nothing() {}

cudaError_t start(int pe) {
  int gpus = 0;
  cudaError_t error = cudaGetDeviceCount(&gpus);
  if (error == cudaSuccess) error = cudaSetDevice(pe % gpus);
  if (error == cudaSuccess) error = cudaFree(nullptr);  // makes the context
  if (error != cudaSuccess) return error;
  nothing<<<1, 1>>>();
  error = cudaGetLastError();
  return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

}  // namespace

int main(int argc, char** argv) {
  const long long started = argc == 2 ? std::atoll(argv[1]) : 0;
  if (started <= 0) {
    std::fprintf(stderr, "usage: weft-run -n N weft-gpu-start-floor NS\n");
    return 2;
  }
  const cudaError_t error = start(told("WEFT_PE", 0));
  if (error != cudaSuccess) {
    std::fprintf(stderr, "weft-gpu-start-floor: %s\n", cudaGetErrorString(error));
    return 1;
  }
  print_start_up("floor", told("WEFT_NPES", 1), "processes", started);
  return 0;
}
