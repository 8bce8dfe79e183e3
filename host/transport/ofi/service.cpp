#include "host/transport/ofi/service.hpp"

#include <poll.h>
#include <sched.h>

#include <array>

#include "host/transport/ofi/endpoint.hpp"
#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::ofi {

namespace {

// How long the thread looks again before it sleeps: a sleeping one answers some 10 us later.
constexpr std::uint64_t kAwakeNs = 50'000;
// So many polls of others in a nap, and they do what is to be done.
constexpr std::uint32_t kManyPolls = 50;
constexpr int kNapMs = 1;
// How long it sleeps at most: then it looks at what takes too long.
constexpr int kSleepMs = 200;

}  // namespace

Service::Service(int pe, Endpoint& endpoint, Work work)
    : pe_(pe), endpoint_(endpoint), work_(std::move(work)) {}

Status Service::start() {
  return thread_.start("weft-ofi", [this] { run(); });
}

void Service::run() {
  set_log_pe(pe_);
  std::uint64_t busy_at = now_ns();
  while (!thread_.stops()) {
    const bool moved = !others_poll() && work_.poll();
    const std::uint64_t now = now_ns();
    if (now - looked_at_ > std::uint64_t{kSleepMs} * 1'000'000) {
      work_.look(now);
      looked_at_ = now;
    }
    if (moved) {
      busy_at = now;
    } else if (now - busy_at < kAwakeNs) {
      ::sched_yield();
    } else {
      sleep();
      busy_at = now_ns();
    }
  }
}

// Naps as long as they do.
bool Service::others_poll() {
  for (;;) {
    const std::uint32_t polls = polls_.load(std::memory_order_relaxed);
    const bool many = polls - seen_polls_ >= kManyPolls;
    seen_polls_ = polls;
    if (!many || thread_.stops()) return false;
    sleep_on(-1, kNapMs);
    if (now_ns() - looked_at_ > std::uint64_t{kSleepMs} * 1'000'000) return true;
  }
}

// Until something comes, also what came between the last look and here.
void Service::sleep() {
  if (endpoint_.fabric().file() < 0) return sleep_on(-1, kNapMs);
  const int file = endpoint_.file_to_sleep_on();
  if (file >= 0) sleep_on(file, kSleepMs);
}

void Service::sleep_on(int file, int ms) {
  std::array<pollfd, 2> files = {pollfd{thread_.wake_file(), POLLIN, 0}, pollfd{file, POLLIN, 0}};
  ::poll(files.data(), files.size(), ms);  // a negative file is passed over
}

}  // namespace weft::ofi
