// A mutex whose waiters get their turn. A thread that gives a std::mutex up and takes it back at
// once, as a busy loop does, may keep others out for as long as it is busy.
#pragma once

#include <mutex>

namespace weft {

class FairMutex {
 public:
  // A waiter keeps the turn until it has the mutex, so whoever comes later, the last owner
  // included, stands behind it.
  void lock() {
    const std::lock_guard turn(turn_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex turn_;
  std::mutex mutex_;
};

}  // namespace weft
