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
  // Only a fault record can come, or an operation that its owner leaves alone.
  static constexpr Pause kNothingToDo{4000};

  void reset() { idle_ = 0; }

  // The pause after one more round in which nothing moved.
  Pause next(bool is_needed) {
    if (!is_needed) {
      reset();
      return kNothingToDo;
    }
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
