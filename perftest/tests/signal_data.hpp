// Ping-pong between the pair: signals, with or without a message.
#pragma once

#include <string>

#include "perftest/floor/flags.hpp"
#include "perftest/tests/transfer.hpp"

namespace weft::perf {

class PingPongTest : public Transfer {
 public:
  PingPongTest(Job& job, const Point& point, bool with_data)
      : Transfer(job, point), with_data_(with_data) {}

  Status allocate() {
    RETURN_IF_ERROR(Transfer::allocate());
    ASSIGN_OR_RETURN(signal_, job_.symmetric<std::uint64_t>(8));
    return Status::ok();
  }

  Result<Ns> run_floor(Count iters) override {
    if (!job_.in_pair()) return Ns{0};
    ASSIGN_OR_RETURN(std::byte* const data, mapped(dst_));
    ASSIGN_OR_RETURN(std::uint64_t* const flag, mapped(signal_));
    const floor::PingPong baseline{data, src_,    with_data_ ? point_.bytes : 0,
                                   flag, signal_, job_.leads()};
    return baseline.run(begin(iters), iters);
  }

  Status check() override {
    if (!job_.in_pair()) return Status::ok();
    const std::uint64_t seen = signal_fetch(signal_);
    if (seen != rounds_)
      return wrong_data("signal", job_.pe(), "the word", std::to_string(seen),
                        std::to_string(rounds_));
    return check_if(with_data_, "put_signal");
  }

  Work work() const override { return {2, 2 * static_cast<double>(point_.bytes)}; }

 protected:
  // The signal's value in the first of `iters` rounds that begin now.
  std::uint64_t begin(Count iters) {
    const std::uint64_t first = rounds_ + 1;
    rounds_ += iters;
    return first;
  }

  const bool with_data_;
  std::uint64_t* signal_ = nullptr;  // a cache line of its own

 private:
  std::uint64_t rounds_ = 0;  // since the buffers were made
};

inline constexpr std::string_view kOneWay = "time = one way = batch / (2 * rounds)";
inline constexpr std::string_view kSignalBaseline = "store of a flag, spin on a flag";
inline constexpr std::string_view kPutSignalBaseline = "memcpy, store of a flag, spin on a flag";

}  // namespace weft::perf
