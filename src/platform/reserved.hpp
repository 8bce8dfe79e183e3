// The common part of the platforms' reservations of address space: which there are, and which parts
// of one have memory.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include <weft/status.hpp>

#include "src/platform/platform.hpp"

namespace weft {

// The live reservations of a platform: a range from a caller is only ever mapped over one of ours.
template <class Reservation>
class ReservationRegistry {
 public:
  // Outlives every static object that holds memory.
  static ReservationRegistry& get() {
    static auto* const one = new ReservationRegistry;
    return *one;
  }
  void add(const std::shared_ptr<Reservation>& reservation) {
    const std::lock_guard lock(mutex_);
    by_base_[reservation->range().base] = reservation;
  }
  void remove(const Reservation& reservation) {
    const std::lock_guard lock(mutex_);
    by_base_.erase(reservation.range().base);
  }
  // Null: `part` does not lie in one.
  std::shared_ptr<Reservation> containing(Range part) {
    const std::lock_guard lock(mutex_);
    const auto found = by_base_.upper_bound(part.base);
    if (found == by_base_.begin()) return nullptr;
    auto reservation = std::prev(found)->second.lock();
    if (reservation == nullptr) return nullptr;
    const Range range = reservation->range();
    const auto offset = static_cast<std::size_t>(part.base - range.base);
    const bool inside = offset < range.bytes && part.bytes <= range.bytes - offset;
    return inside ? reservation : nullptr;
  }

 private:
  std::mutex mutex_;
  std::map<std::byte*, std::weak_ptr<Reservation>> by_base_;
};

// The parts of a reservation that have memory. One thread at a time.
class MappedParts {
 public:
  // An error if some of `part` has memory.
  Status check_free(Range part) const;
  void add(Range part) { bytes_.emplace(part.base, part.bytes); }
  void remove(Range part) { bytes_.erase(part.base); }

 private:
  std::map<std::byte*, std::size_t> bytes_;
};

}  // namespace weft
