// Lanes: a network's own part of each lane, made when it is first posted to.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

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
    owned_.push_back(make(static_cast<std::uint32_t>(lane)));
    lanes_[static_cast<std::size_t>(lane)].store(owned_.back().get(), std::memory_order_release);
    return *owned_.back();
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& lane : lanes_)
      if (Own* const own = lane.load(std::memory_order_acquire); own != nullptr) visit(*own);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Own>> owned_;  // under mutex_
  // Release in get(), acquire where they are looked at.
  std::array<std::atomic<Own*>, kTransportLanes> lanes_{};
};

}  // namespace weft::network
