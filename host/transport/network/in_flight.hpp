// InFlightQueue: the ops of a lane that were taken and are not known to be complete, numbered in
// the order in which they were posted. All but completed() under the lane's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory_resource>

namespace weft::network {

// An Item says by is_done() whether it is over.
template <class Item>
class InFlightQueue {
 public:
  // All before it are over.
  std::uint64_t first() const { return first_; }
  // The number of the next.
  std::uint64_t next() const { return first_ + in_flight_.size(); }
  Item& add(const Item& item) { return in_flight_.emplace_back(item); }
  bool has(std::uint64_t number) const {
    return number >= first_ && number - first_ < in_flight_.size();
  }
  Item& operator[](std::uint64_t number) { return in_flight_[number - first_]; }
  const Item& operator[](std::uint64_t number) const { return in_flight_[number - first_]; }
  auto begin() { return in_flight_.begin(); }
  auto end() { return in_flight_.end(); }
  auto begin() const { return in_flight_.begin(); }
  auto end() const { return in_flight_.end(); }

  // Counts those that are over, in order.
  void retire() {
    std::uint64_t gone = 0;
    for (; !in_flight_.empty() && in_flight_.front().is_done(); ++gone) in_flight_.pop_front();
    first_ += gone;
    // Release: who sees the count sees what the ops brought. Pairs with the acquire in completed.
    if (gone != 0) completed_.fetch_add(gone, std::memory_order_release);
  }
  std::uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

 private:
  // Memory of those that are over serves the next, without a call of malloc's.
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::deque<Item> in_flight_{&pool_};
  std::uint64_t first_ = 0;  // number of the first of them
  std::atomic<std::uint64_t> completed_{0};
};

}  // namespace weft::network
