// Events that clients wait for at a file descriptor, which can be read while there are some.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "src/base/unique_fd.hpp"

namespace weft::fake_verbs {

template <class Event>
class Events {
 public:
  int fd() const { return fd_.get(); }

  void push(const Event& event) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(event);
    ::eventfd_write(fd(), 1);
  }

  // Waits unless the client has made the descriptor one that does not; false: errno says why.
  bool take(Event* out) {
    while (!try_take(out)) {
      if ((::fcntl(fd(), F_GETFL) & O_NONBLOCK) != 0) {
        errno = EAGAIN;
        return false;
      }
      pollfd readable{fd(), POLLIN, 0};
      if (::poll(&readable, 1, -1) < 0) return false;
    }
    return true;
  }

  // How many there were.
  std::size_t remove(const Event& event) {
    const std::lock_guard lock(mutex_);
    const std::size_t removed = std::erase(waiting_, event);
    for (std::size_t i = 0; i < removed; ++i) count_down();
    return removed;
  }

 private:
  bool try_take(Event* out) {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return false;
    *out = waiting_.front();
    waiting_.pop_front();
    count_down();
    return true;
  }
  // Never waits: the descriptor counts what is waiting.
  void count_down() {
    eventfd_t one;
    ::eventfd_read(fd(), &one);
  }

  UniqueFd fd_{::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)};
  std::mutex mutex_;
  std::deque<Event> waiting_;
};

}  // namespace weft::fake_verbs
