// ServiceThread: a thread of a network's transport that sleeps on files, and ends when it is told.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include <weft/status.hpp>

#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/base/thread.hpp"
#include "src/base/unique_fd.hpp"

namespace weft {

// The last member of what its body uses: it has ended before the others go.
class ServiceThread {
 public:
  ServiceThread() = default;
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;
  ~ServiceThread() {
    if (!thread_.joinable()) return;
    stops_.store(true, std::memory_order_release);  // pairs with the acquire in stops
    const std::uint64_t one = 1;
    if (::write(wake_.get(), &one, sizeof one) < 0)
      LOG(kDebug, "transport", "a service is not woken: {}", std::strerror(errno));
    thread_.join();
  }

  // `body` returns soon after stops(), and is woken by a wake_file() that can be read.
  Status start(const char* name, std::function<void()> body) {
    wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_)
      return Status::error(Code::kIo, fmt::format("{}: cannot make an event descriptor: {}", name,
                                                  std::strerror(errno)));
    ASSIGN_OR_RETURN(thread_, start_thread({name}, std::move(body)));
    return Status::ok();
  }
  bool stops() const { return stops_.load(std::memory_order_acquire); }
  int wake_file() const { return wake_.get(); }

 private:
  UniqueFd wake_;
  std::atomic<bool> stops_{false};
  Thread thread_;
};

}  // namespace weft
