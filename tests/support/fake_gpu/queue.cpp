#include <utility>

#include "tests/support/fake_gpu/state.hpp"

namespace weft::fake_gpu {

Queue::Queue() : thread_([this] { run(); }) {}

Queue::~Queue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Queue::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Queue::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty() && !busy_; });
}

bool Queue::is_idle() {
  const std::lock_guard lock(mutex_);
  return work_.empty() && !busy_;
}

void Queue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !work_.empty() || ends_; });
    if (work_.empty()) return;
    const auto next = std::move(work_.front());
    work_.pop_front();
    busy_ = true;
    lock.unlock();
    next();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace weft::fake_gpu
