// Ping-pong between kernels of the two PEs that run at once.
#include "perftest/tests/kernel.hpp"
#include "perftest/tests/signal_data.hpp"

namespace weft::perf {
namespace {

template <bool kWithData>
struct Body {
  static constexpr bool kAlone = true;  // one unit plays, the others look on
  std::byte* dst;
  const std::byte* src;
  std::size_t bytes;
  std::uint64_t* signal;
  std::uint64_t value;  // of the first round
  int peer;
  bool leads;

  template <class Scope>
  WEFT_DEVICE void send(const dev::Context& ctx, Scope scope, std::uint64_t v) const {
    if constexpr (kWithData) {
      ctx.put(scope, dst, src, bytes, peer, set(signal, v));
    } else if (scope.rank() == 0) {
      ctx.signal(set(signal, v), peer);
    }
  }

  template <class Scope>
  WEFT_DEVICE bool operator()(const dev::Context& ctx, Scope scope, Unit, Count i) const {
    if (leads) send(ctx, scope, value + i);
    if (!ctx.wait_until(scope, signal, Cmp::kGe, value + i)) return false;
    if (!leads) send(ctx, scope, value + i);
    return true;
  }
};

template <bool kWithData>
class DevicePingPong : public PingPongTest {
 public:
  DevicePingPong(Job& job, const Point& point) : PingPongTest(job, point, kWithData) {}
  Result<Ns> run(Count iters) override {
    if (!job_.in_pair()) return Ns{0};
    const Body<kWithData> body{dst_,         src_,        point_.bytes, signal_,
                               begin(iters), job_.peer(), job_.leads()};
    return run_kernel(job_, point_.scope, body, iters);
  }
};

}  // namespace

std::vector<Row> device_signal_rows() {
  return {
      {.name = "put_signal",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "ping-pong between kernels: a message with a signal, waited for and answered",
       .formula = kOneWay,
       .floor = kPutSignalBaseline,
       .uses = kUsesSize | kUsesScope,
       .type = "uint8",
       .make = make<DevicePingPong<true>>},
      {.name = "signal",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "ping-pong between kernels: a bare signal, waited for and answered",
       .formula = kOneWay,
       .floor = kSignalBaseline,
       .uses = kUsesScope,
       .make = make<DevicePingPong<false>>},
  };
}

}  // namespace weft::perf
