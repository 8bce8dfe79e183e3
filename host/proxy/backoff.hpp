// Backoff: how long an idle loop pauses before it looks again. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace weft {

// Looks at once, then gives the core away, then sleeps longer and longer.
class Backoff {
 public:
  using Pause = std::chrono::microseconds;
  static constexpr Pause kNone{-1};
  static constexpr Pause kYield{0};
  static constexpr Pause kLongest{1000};
  static constexpr Pause kNothingToDo{10000};  // no ring: only a fault record can come

  void reset() { idle_ = 0; }

  // The pause after one more round in which nothing moved.
  Pause next(bool has_work_sources) {
    if (!has_work_sources) return kNothingToDo;
    constexpr int kSpins = 32, kYields = 96;
    if (++idle_ <= kSpins) return kNone;
    if (idle_ <= kSpins + kYields) return kYield;
    const int doublings = std::min(idle_ - kSpins - kYields - 1, 10);
    return std::min(Pause(10 << doublings), kLongest);
  }

 private:
  int idle_ = 0;
};

}  // namespace weft
