// Every spin of the device API is one of these: a condition, a pause, a deadline.
//
// A wait whose end is worth each nanosecond is in two parts: comes_soon(), which is nothing but the
// condition, and, in a function that is called, wait_on(), which has the clock, the deadline and
// the report. So none of those takes registers where the polls are, and nothing lives across the
// call.
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
template <std::uint32_t kPolls = kPollsPerLook, class Condition>
WEFT_DEVICE bool comes(Condition condition) {
  WEFT_DEVICE_AS_A_LOOP
  for (std::uint32_t i = 0; i < kPolls; ++i) {
    if (condition()) return true;
    if constexpr (platform::kEagerPolls == 0) platform::relax();
  }
  return false;
}

// The polls before anybody sleeps, or looks at the clock.
inline constexpr std::uint32_t kSoonPolls =
    platform::kEagerPolls > kPollsPerLook ? platform::kEagerPolls : kPollsPerLook;
template <class Condition>
WEFT_DEVICE bool comes_soon(Condition condition) {
  return comes<kSoonPolls>(condition);
}
// The same of a condition that is a few instructions. Threads that wait for themselves alone look
// in a loop of little else, since what a poll takes is part of every message's time; those of a
// scope keep the registers that this takes.
template <class Scope, class Condition>
WEFT_DEVICE bool comes_soon(Scope, Condition condition) {
  if constexpr (std::is_same_v<Scope, Thread>) {
    WEFT_DEVICE_FOUR_AT_A_TIME
    for (std::uint32_t i = 0; i < kSoonPolls; ++i) {
      if (condition()) return true;
      if constexpr (platform::kEagerPolls == 0) platform::relax();
    }
    return false;
  } else {
    return comes_soon(condition);
  }
}

// True when `condition` came to hold, false when the deadline passed first.
template <class AnyDeadline, class Condition>
WEFT_DEVICE bool poll(AnyDeadline& deadline, Condition condition) {
  for (std::uint32_t eager = platform::kEagerPolls / kPollsPerLook;; eager -= eager != 0) {
    if (comes(condition)) return true;
    if (platform::kEagerPolls != 0 && eager == 0) platform::relax();
    if (deadline.passed()) return false;
  }
}

// The rest of a wait that does not end soon: true when `condition` came to hold. When the deadline
// passes first, report(waited_ns), and with WEFT_WAIT_ACTION=wait so on until the job ends.
template <class Report, class Condition>
WEFT_DEVICE bool wait_on(const DeviceState& state, Report report, Condition condition) {
  Deadline deadline(state);
  WEFT_DEVICE_AS_A_LOOP
  while (!poll(deadline, condition)) {
    report(deadline.waited_ns());
    if (!deadline.goes_on()) return false;  // mutation: equivalent, behind the deadline
  }
  return true;
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
