// While it lives, no capture of the program's forbids the calling thread what the making of an
// operator needs, and none is spoiled by it: CUDA refuses what could wait or take memory while some
// stream of the process is captured in global mode.
#pragma once

#include <weft/runtime.hpp>

namespace weft::kernels {

class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Runtime& runtime) : RelaxedCapture(runtime.gpu() >= 0) {}
  explicit RelaxedCapture(bool has_gpu);
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture();

 private:
  bool exchanged_ = false;
  int before_ = 0;
};

// In the CUDA part, where there is one. Whether `mode` is now the thread's, and holds the one
// before.
bool exchange_capture_mode(int* mode);

}  // namespace weft::kernels
