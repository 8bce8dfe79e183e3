#include "src/base/file_size_signal.hpp"

#include <cerrno>
#include <ctime>

namespace weft {
namespace {

sigset_t the_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() noexcept : was_pending_(is_pending()) {
  const sigset_t set = the_signal();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

// The kernel sends it to the thread that made the call, so what came meanwhile is taken here.
NoFileSizeSignal::~NoFileSizeSignal() {
  const int error = errno;
  if (!was_pending_ && is_pending()) {
    const sigset_t set = the_signal();
    const timespec at_once{};
    (void)::sigtimedwait(&set, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace weft
