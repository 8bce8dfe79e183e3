#include "src/base/process.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace weft {
namespace {

std::atomic<pid_t> known{0};

void look_again() { known.store(::getpid(), std::memory_order_relaxed); }

}  // namespace

pid_t OwnerProcess::current() noexcept {
  static const int registered = [] {
    look_again();
    return ::pthread_atfork(nullptr, nullptr, look_again);
  }();
  static_cast<void>(registered);
  return known.load(std::memory_order_relaxed);
}

void keep_for_parent(std::shared_ptr<void> inherited) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(inherited));
}

}  // namespace weft
