// QueuedGrids: how many grids of host threads calls of OnStream have queued that have not run yet.
// They use the job's memory, so its end waits for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace weft {

class QueuedGrids {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  // Until there is none, or `goes_on()` is false, which is asked now and then.
  template <class GoesOn>
  void wait(GoesOn goes_on) {
    constexpr std::chrono::milliseconds kLook{20};
    std::unique_lock lock(mutex_);
    while (!none_.wait_for(lock, kLook, [this] { return count_ == 0; })) {
      lock.unlock();
      if (!goes_on()) return;
      lock.lock();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;  // guarded by mutex_
};

}  // namespace weft
