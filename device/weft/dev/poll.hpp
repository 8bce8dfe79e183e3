// Every spin of the device API is one of these: a condition, a pause, a deadline.
#pragma once

#include <cstdint>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/state.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// The deadline of one wait. Costs nothing before it is asked.
class Deadline {
 public:
  WEFT_DEVICE explicit Deadline(const DeviceState& state) : state_(state) {}

  // Looks at the clock.
  WEFT_DEVICE bool passed() {
    if (limit_ns_ == kNotRead) limit_ns_ = state_.deadline_ns;
    if (limit_ns_ == 0) return false;
    const std::uint64_t now = platform::clock_ns();
    if (start_ns_ == 0) start_ns_ = now;
    waited_ns_ = now - start_ns_;
    return waited_ns_ >= limit_ns_;
  }
  WEFT_DEVICE std::uint64_t waited_ns() const { return waited_ns_; }

 private:
  static constexpr std::uint64_t kNotRead = ~std::uint64_t{0};
  const DeviceState& state_;
  std::uint64_t limit_ns_ = kNotRead;
  std::uint64_t start_ns_ = 0;
  std::uint64_t waited_ns_ = 0;
};

// True when `condition` came to hold, false when the deadline passed first.
template <class Condition>
WEFT_DEVICE bool poll(Deadline& deadline, Condition condition) {
  constexpr std::uint32_t kPollsPerLook = 64;
  for (std::uint32_t eager = platform::kEagerPolls / kPollsPerLook;; eager -= eager != 0) {
    WEFT_DEVICE_AS_A_LOOP
    for (std::uint32_t i = 0; i < kPollsPerLook; ++i) {
      if (condition()) return true;
      if (eager == 0) platform::relax();
    }
    if (deadline.passed()) return false;
  }
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
