#include "kernels/core/relaxed_capture.hpp"

namespace weft::kernels {

#if defined(WEFT_HAS_CUDA_KERNELS)

RelaxedCapture::RelaxedCapture(bool has_gpu) {
  constexpr int kRelaxed = 2;  // cudaStreamCaptureModeRelaxed
  before_ = kRelaxed;
  exchanged_ = has_gpu && exchange_capture_mode(&before_);
}

RelaxedCapture::~RelaxedCapture() {
  if (exchanged_) exchange_capture_mode(&before_);
}

#else

RelaxedCapture::RelaxedCapture(bool) {}
RelaxedCapture::~RelaxedCapture() = default;

#endif

}  // namespace weft::kernels
