// Every spin of the device API is one of these: a condition, a pause, a deadline.
#pragma once

#include <cstdint>
#include <type_traits>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/state.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// The deadline of one wait. Costs nothing before it is asked.
class Deadline {
 public:
  WEFT_DEVICE explicit Deadline(const DeviceState& state) : state_(state) {}

  // Looks at the clock.
  WEFT_DEVICE bool passed() {
    const std::uint64_t limit_ns = state_.deadline_ns;
    if (limit_ns == 0) return false;
    const std::uint64_t now = platform::clock_ns();
    if (start_ns_ == 0) start_ns_ = now;
    return now - start_ns_ >= limit_ns;
  }
  // Once it has passed.
  WEFT_DEVICE std::uint64_t waited_ns() const { return platform::clock_ns() - start_ns_; }

 private:
  const DeviceState& state_;
  std::uint64_t start_ns_ = 0;
};

inline constexpr std::uint32_t kPollsPerLook = 64;  // at the clock

// Whether `condition` came to hold within some polls.
template <class Condition>
WEFT_DEVICE bool comes(Condition condition) {
  WEFT_DEVICE_AS_A_LOOP
  for (std::uint32_t i = 0; i < kPollsPerLook; ++i) {
    if (condition()) return true;
    if constexpr (platform::kEagerPolls == 0) platform::relax();
  }
  return false;
}
// The same of one that is a few instructions, in a loop of little else: what a poll takes is part
// of every message's time.
template <class Condition>
WEFT_DEVICE bool comes_fast(Condition condition) {
  WEFT_DEVICE_FOUR_AT_A_TIME
  for (std::uint32_t i = 0; i < kPollsPerLook; ++i) {
    if (condition()) return true;
    if constexpr (platform::kEagerPolls == 0) platform::relax();
  }
  return false;
}

// True when some_polls() say so, false when the deadline passed first.
template <class Polls>
WEFT_DEVICE bool poll_until(Deadline& deadline, Polls some_polls) {
  for (std::uint32_t eager = platform::kEagerPolls / kPollsPerLook;; eager -= eager != 0) {
    if (some_polls()) return true;
    if (platform::kEagerPolls != 0 && eager == 0) platform::relax();
    if (deadline.passed()) return false;
  }
}

// True when `condition` came to hold, false when the deadline passed first.
template <class Condition>
WEFT_DEVICE bool poll(Deadline& deadline, Condition condition) {
  return poll_until(deadline, [&] { return comes(condition); });
}
// The same of what seems() so, in a few instructions, and then is_so(). Threads that wait for
// themselves alone look fast; those of a scope keep the registers that this takes.
template <class Scope, class Seems, class IsSo>
WEFT_DEVICE bool poll(Deadline& deadline, Scope, Seems seems, IsSo is_so) {
  return poll_until(deadline, [&] {
    if constexpr (std::is_same_v<Scope, Thread>)
      return comes_fast(seems) && is_so();
    else
      return comes(seems) && is_so();
  });
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
