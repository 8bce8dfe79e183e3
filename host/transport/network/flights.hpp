// Flights: the ops of a lane that were taken and are not known to be complete, numbered in the
// order in which they were posted. All but completed() under the lane's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory_resource>

namespace weft::network {

// A Flight says by is_done() whether it is over.
template <class Flight>
class Flights {
 public:
  // All before it are over.
  std::uint64_t first() const { return first_; }
  // The number of the next.
  std::uint64_t next() const { return first_ + flights_.size(); }
  Flight& add(const Flight& flight) { return flights_.emplace_back(flight); }
  bool has(std::uint64_t number) const {
    return number >= first_ && number - first_ < flights_.size();
  }
  Flight& operator[](std::uint64_t number) { return flights_[number - first_]; }
  const Flight& operator[](std::uint64_t number) const { return flights_[number - first_]; }
  auto begin() { return flights_.begin(); }
  auto end() { return flights_.end(); }
  auto begin() const { return flights_.begin(); }
  auto end() const { return flights_.end(); }

  // Counts those that are over, in order.
  void retire() {
    std::uint64_t gone = 0;
    for (; !flights_.empty() && flights_.front().is_done(); ++gone) flights_.pop_front();
    first_ += gone;
    // Release: who sees the count sees what the ops brought. Pairs with the acquire in completed.
    if (gone != 0) completed_.fetch_add(gone, std::memory_order_release);
  }
  std::uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

 private:
  // Memory of those that are over serves the next, without a call of malloc's.
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::deque<Flight> flights_{&pool_};
  std::uint64_t first_ = 0;  // number of the first of them
  std::atomic<std::uint64_t> completed_{0};
};

}  // namespace weft::network
