// Ping-pong: a signal, or a message with a signal, to the peer and back.
#include "perftest/tests/signal_data.hpp"

namespace weft::perf {
namespace {

template <bool kWithData>
class PingPong : public PingPongTest {
 public:
  PingPong(Job& job, const Point& point) : PingPongTest(job, point, kWithData) {}

  Result<Ns> run(Count iters) override {
    if (!job_.in_pair()) return Ns{0};
    Context& ctx = job_.ctx();
    const int peer = job_.peer();
    const bool leads = job_.leads();
    const std::size_t bytes = point_.bytes;
    const std::uint64_t first = begin(iters);
    return time_loop(iters, [=, this, &ctx](Count i) {
      const Notify notify = set(signal_, first + i);
      const auto send = [&] {
        if constexpr (kWithData) {
          return ctx.put_signal(dst_, src_, bytes, notify, peer);
        } else {
          return ctx.signal(notify, peer);
        }
      };
      if (leads) RETURN_IF_ERROR(send());
      RETURN_IF_ERROR(wait_until(ctx, signal_, Cmp::kGe, first + i));
      return leads ? Status::ok() : send();
    });
  }
};

}  // namespace

std::vector<Row> signal_rows() {
  return {
      {.name = "put_signal",
       .kind = Kind::kLatency,
       .what = "ping-pong: a message with a signal to the peer, who waits for it and answers alike",
       .formula = kOneWay,
       .floor = kPutSignalBaseline,
       .uses = kUsesSize,
       .type = "uint8",
       .make = make<PingPong<true>>},
      {.name = "signal",
       .kind = Kind::kLatency,
       .what = "ping-pong: a bare signal to the peer, who waits for it and answers alike",
       .formula = kOneWay,
       .floor = kSignalBaseline,
       .make = make<PingPong<false>>},
  };
}

}  // namespace weft::perf
