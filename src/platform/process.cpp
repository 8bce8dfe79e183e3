#include <pthread.h>
#include <sys/random.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <random>

#include "src/platform/platform.hpp"

namespace weft {
namespace {

std::atomic<const Uuid*> current{nullptr};
const Uuid* inherited = nullptr;  // a parent's; kept, so that nobody calls it leaked

void forget_in_child() { inherited = current.exchange(nullptr, std::memory_order_relaxed); }

}  // namespace

Uuid random_uuid() {
  Uuid uuid;
  std::size_t filled = 0;
  while (filled < uuid.size()) {
    const ssize_t got = ::getrandom(uuid.data() + filled, uuid.size() - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {  // a sandbox without the call
      std::random_device source;
      for (; filled < uuid.size(); ++filled) uuid[filled] = static_cast<std::byte>(source());
    }
  }
  return uuid;
}

Uuid process_uuid() {
  // acquire: pairs with the release of the thread that published it.
  const Uuid* uuid = current.load(std::memory_order_acquire);
  if (uuid == nullptr) {
    static const int registered = ::pthread_atfork(nullptr, nullptr, forget_in_child);
    static_cast<void>(registered);
    auto made = std::make_unique<const Uuid>(random_uuid());
    if (current.compare_exchange_strong(uuid, made.get(), std::memory_order_acq_rel)) {
      uuid = made.release();
    }
  }
  return *uuid;
}

}  // namespace weft
