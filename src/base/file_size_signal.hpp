// A file that would become larger than the limit allows (ulimit -f) raises SIGXFSZ, which ends the
// program without a word. While one of these lives, the call fails with EFBIG instead, in this
// thread; the program's own disposition of the signal stays as it is.
#pragma once

#include <signal.h>

namespace weft {

class NoFileSizeSignal {
 public:
  NoFileSizeSignal() noexcept;
  ~NoFileSizeSignal();
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace weft
