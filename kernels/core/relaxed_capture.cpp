#include "kernels/core/relaxed_capture.hpp"

namespace weft::kernels {

RelaxedCapture::RelaxedCapture(bool has_gpu) {
  constexpr int kRelaxed = 2;  // cudaStreamCaptureModeRelaxed
  before_ = kRelaxed;
  exchanged_ = has_gpu && exchange_capture_mode(&before_);
}

RelaxedCapture::~RelaxedCapture() {
  if (exchanged_) exchange_capture_mode(&before_);
}

#if !defined(WEFT_HAS_CUDA_KERNELS)
bool exchange_capture_mode(int*) { return false; }
#endif

}  // namespace weft::kernels
