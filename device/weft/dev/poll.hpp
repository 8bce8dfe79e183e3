// Every spin of the device API is one of these: a condition, a pause, a deadline.
#pragma once

#include <cstdint>

#include <weft/dev/platform.hpp>
#include <weft/dev/state.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// The deadline of one wait. Costs nothing while few polls have failed.
class Deadline {
 public:
  WEFT_DEVICE explicit Deadline(const DeviceState& state) : state_(state) {}

  // To be asked after each poll that failed; looks at the clock now and then.
  WEFT_DEVICE bool passed() {
    constexpr std::uint32_t kPollsPerLook = 64;
    if (++polls_ % kPollsPerLook != 0) return false;
    if (limit_ns_ == kNotRead) limit_ns_ = state_.deadline_ns;
    if (limit_ns_ == 0) return false;
    const std::uint64_t now = platform::clock_ns();
    if (start_ns_ == 0) start_ns_ = now;
    waited_ns_ = now - start_ns_;
    return waited_ns_ >= limit_ns_;
  }
  WEFT_DEVICE std::uint64_t waited_ns() const { return waited_ns_; }
  WEFT_DEVICE std::uint32_t polls() const { return polls_; }

 private:
  static constexpr std::uint64_t kNotRead = ~std::uint64_t{0};
  const DeviceState& state_;
  std::uint64_t limit_ns_ = kNotRead;
  std::uint64_t start_ns_ = 0;
  std::uint64_t waited_ns_ = 0;
  std::uint32_t polls_ = 0;
};

// True when `condition` came to hold, false when the deadline passed first.
template <class Condition>
WEFT_DEVICE bool poll(Deadline& deadline, Condition condition) {
  while (!condition()) {
    if (deadline.passed()) return false;
    if (deadline.polls() > platform::kEagerPolls) platform::relax();
  }
  return true;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
