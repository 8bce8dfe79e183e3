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
    const std::uint64_t limit_ns = deadline_of(state_);
    if (limit_ns == 0) return false;
    const std::uint64_t now = platform::clock_ns();
    if (start_ns_ == 0) start_ns_ = now & ~kReports;
    return now - start_ns_ >= limit_ns << (start_ns_ & kReports);
  }
  // Once it has passed.
  WEFT_DEVICE std::uint64_t waited_ns() const { return platform::clock_ns() - start_ns_; }
  // Once it has been reported that it passed. True: the wait goes on, for as long again.
  WEFT_DEVICE bool goes_on() {
    if (!waits_go_on(state_)) return false;
    if ((start_ns_ & kReports) != kReports) ++start_ns_;
    return true;
  }

 private:
  // Low bits of the start that count the reports: a register of their own would be one more in
  // every wait, and 16 ns are nothing to a deadline.
  static constexpr std::uint64_t kReports = 15;

  const DeviceState& state_;
  std::uint64_t start_ns_ = 0;
};

// The same of a wait for the proxy. With WEFT_WAIT_ACTION=wait that reports what it cannot bring to
// an end, so the kernel's wait only ends with the job.
class ProxyDeadline : public Deadline {
 public:
  WEFT_DEVICE explicit ProxyDeadline(const DeviceState& state) : Deadline(state), state_(state) {}
  WEFT_DEVICE bool passed() { return !waits_go_on(state_) && Deadline::passed(); }

 private:
  const DeviceState& state_;
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
template <class AnyDeadline, class Polls>
WEFT_DEVICE bool poll_until(AnyDeadline& deadline, Polls some_polls) {
  for (std::uint32_t eager = platform::kEagerPolls / kPollsPerLook;; eager -= eager != 0) {
    if (some_polls()) return true;
    if (platform::kEagerPolls != 0 && eager == 0) platform::relax();
    if (deadline.passed()) return false;
  }
}

// True when `condition` came to hold, false when the deadline passed first.
template <class AnyDeadline, class Condition>
WEFT_DEVICE bool poll(AnyDeadline& deadline, Condition condition) {
  return poll_until(deadline, [&] { return comes(condition); });
}

// The rest of a wait whose deadline has passed: report(waited_ns), and with WEFT_WAIT_ACTION=wait
// so on until `condition` holds or the job ends. True: it holds. For functions that are called, so
// that the loop takes no registers of the wait.
template <class Report, class Condition>
WEFT_DEVICE bool wait_on(Deadline deadline, Report report, Condition condition) {
  WEFT_DEVICE_AS_A_LOOP
  for (;;) {
    report(deadline.waited_ns());
    if (!deadline.goes_on()) return false;
    if (poll(deadline, condition)) return true;  // mutation: equivalent, behind the deadline
  }
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
