// For lines whose number a stranger decides: the first is logged, and then one in ten seconds,
// which says how many were left out.
//
//   if (const auto more = limit_.pass()) LOG(kWarn, "platform", "refused a stranger{}", *more);
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/clock.hpp"

namespace weft {

// For one thread at a time.
class LogLimit {
 public:
  explicit LogLimit(double pause_s = 10) : pause_s_(pause_s) {}

  // Nothing: not now. Else the end of the line.
  std::optional<std::string> pass() {
    if (!pause_.is_never() && !pause_.expired()) {
      ++left_out_;
      return std::nullopt;
    }
    std::string more =
        left_out_ == 0 ? "" : fmt::format(" (and {} more since the last such line)", left_out_);
    left_out_ = 0;
    pause_ = Deadline(pause_s_);
    return more;
  }

 private:
  double pause_s_;
  Deadline pause_ = Deadline::never();
  std::uint64_t left_out_ = 0;
};

}  // namespace weft
