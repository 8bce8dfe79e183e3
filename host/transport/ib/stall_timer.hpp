// StallTimer: notices that one request has been the oldest for a second.
#pragma once

#include <cstdint>
#include <utility>

#include "src/base/clock.hpp"

namespace weft::ib {

class StallTimer {
 public:
  static constexpr std::uint64_t kCalls = 32, kStallNs = 1'000'000'000;

  // Called at each progress with the number of the oldest request; true once a second of its being
  // that. The clock is read at some calls only: that takes about as long as to poll the device.
  template <class Now>
  bool has_stalled(std::uint64_t oldest, Now now) {
    if (std::exchange(oldest_, oldest) != oldest) calls_ = since_ns_ = 0;
    if (++calls_ % kCalls != 0) return false;
    const std::uint64_t now_at = now();
    if (since_ns_ == 0) since_ns_ = now_at;
    if (now_at - since_ns_ < kStallNs) return false;
    since_ns_ = now_at;
    return true;
  }
  bool has_stalled(std::uint64_t oldest) { return has_stalled(oldest, now_ns); }

 private:
  std::uint64_t oldest_ = 0, calls_ = 0, since_ns_ = 0;  // since when, once the clock was read
};

}  // namespace weft::ib
