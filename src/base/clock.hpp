// The one clock of the library: monotonic, in nanoseconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace weft {

inline std::uint64_t now_ns() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

// When a wait ends. As in the options, 0 seconds (or less) means never.
class Deadline {
 public:
  explicit Deadline(double seconds) : start_(now_ns()), end_(end_after(start_, seconds)) {}
  static Deadline never() { return Deadline(0); }

  bool is_never() const { return end_ == kNever; }
  bool expired() const { return !is_never() && now_ns() >= end_; }

  // As poll() takes it: -1 never, 0 expired, else milliseconds rounded up.
  int remaining_ms() const {
    if (is_never()) return -1;
    const std::uint64_t now = now_ns();
    if (now >= end_) return 0;
    const std::uint64_t ms = (end_ - now + 999'999) / 1'000'000;
    return static_cast<int>(std::min<std::uint64_t>(ms, std::numeric_limits<int>::max()));
  }

  // Later: so long after it was set.
  void extend_to(double seconds) { end_ = end_after(start_, seconds); }

  // How long ago it was set.
  double waited_seconds() const { return static_cast<double>(now_ns() - start_) * 1e-9; }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  static std::uint64_t end_after(std::uint64_t start, double seconds) {
    if (!(seconds > 0) || seconds > 9e9) return kNever;  // 9e9 s still fits in 64 bits of ns
    return start + static_cast<std::uint64_t>(seconds * 1e9);
  }

  std::uint64_t start_;
  std::uint64_t end_;
};

}  // namespace weft
