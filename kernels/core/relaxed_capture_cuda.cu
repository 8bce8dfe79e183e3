#include <cuda_runtime.h>

#include "kernels/core/relaxed_capture.hpp"

namespace weft::kernels {

bool exchange_capture_mode(int* mode) {
  auto now = static_cast<cudaStreamCaptureMode>(*mode);
  const bool exchanged = cudaThreadExchangeStreamCaptureMode(&now) == cudaSuccess;
  *mode = static_cast<int>(now);
  return exchanged;
}

}  // namespace weft::kernels
