// Lanes: a network's own part of each lane, made when it is first posted to.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "host/transport/transport.hpp"

namespace weft::network {

template <class Own>
class Lanes {
 public:
  // Null: not made yet.
  Own* find(Lane lane) const {
    return lanes_[static_cast<std::size_t>(lane)].load(std::memory_order_acquire);
  }
  // `make(number)` makes it.
  template <class Make>
  Own& get(Lane lane, Make make) {
    if (Own* const known = find(lane); known != nullptr) return *known;
    const std::lock_guard lock(mutex_);
    if (Own* const known = find(lane); known != nullptr) return *known;
    const std::size_t count = count_.load(std::memory_order_relaxed);
    owned_[count] = make(static_cast<std::uint32_t>(lane));
    lanes_[static_cast<std::size_t>(lane)].store(owned_[count].get(), std::memory_order_release);
    count_.store(count + 1, std::memory_order_release);
    return *owned_[count];
  }
  template <class Visit>
  void for_each(Visit visit) const {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) visit(*owned_[i]);
  }

 private:
  std::mutex mutex_;
  // Release in get(), acquire where they are looked at.
  std::array<std::atomic<Own*>, kTransportLanes> lanes_{};
  std::array<std::unique_ptr<Own>, kTransportLanes> owned_;  // the first count_: as they were made
  std::atomic<std::size_t> count_{0};
};

}  // namespace weft::network
