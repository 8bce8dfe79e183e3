// Service: the thread that answers others while this PE's own threads do something else. It sleeps
// until something comes, if the provider has a file for that, and stands back while others poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include <weft/status.hpp>

#include "host/transport/network/service_thread.hpp"

namespace weft::ofi {

class Endpoint;

class Service {
 public:
  struct Work {
    std::function<bool()> poll;                   // true if there was something
    std::function<void(std::uint64_t now)> look;  // now and then, at what takes too long
  };
  Service(int pe, Endpoint& endpoint, Work work);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Status start();
  // By a thread that polls itself.
  void polled() { polls_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void run();
  void sleep();
  void sleep_on(int file, int ms);
  bool others_poll();

  const int pe_;
  Endpoint& endpoint_;
  const Work work_;
  std::atomic<std::uint32_t> polls_{0};
  std::uint32_t seen_polls_ = 0;
  std::uint64_t looked_at_ = 0;
  ServiceThread thread_;
};

}  // namespace weft::ofi
