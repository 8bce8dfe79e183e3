// get: one message from the peer.
#include "perftest/elements.hpp"
#include "perftest/tests/transfer.hpp"

namespace weft::perf {
namespace {

enum class Mode { kEach, kStreamNbi };

template <Mode kMode>
class Get : public GetTest {
 public:
  using GetTest::GetTest;

  Result<Ns> run(Count iters) override {
    if (!job_.sends()) return Ns{0};
    return with_width(point_.type->bytes, [&](auto zero) { return fetch(zero, iters); });
  }

 private:
  template <class T>
  Result<Ns> fetch(T, Count iters) {
    Context& ctx = job_.ctx();
    const int peer = job_.peer();
    auto* const dst = reinterpret_cast<T*>(dst_);
    const auto* const src = reinterpret_cast<const T*>(src_);
    const std::size_t count = point_.count();
    if constexpr (kMode == Mode::kEach) {
      return time_loop(iters, [=, &ctx](Count) { return ctx.get(dst, src, count, peer); });
    } else {
      return time_loop(
          iters, [=, &ctx](Count) { return ctx.get_nbi(dst, src, count, peer); },
          [&ctx] { return ctx.quiet(); });
    }
  }
};

constexpr std::string_view kBaseline = "memcpy from the same mapping (8 bytes: one load)";
constexpr unsigned kUses = kUsesSize | kUsesType;

}  // namespace

std::vector<Row> get_rows() {
  return {
      {.name = "get",
       .kind = Kind::kLatency,
       .what = "get: one message until it is here",
       .formula = "time = batch / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<Get<Mode::kEach>>},
      {.name = "get",
       .kind = Kind::kBandwidth,
       .what = "gets one after the other",
       .formula = "GB/s = size / p50; p50 = batch / gets",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<Get<Mode::kEach>>},
      {.name = "get_nbi",
       .kind = Kind::kBandwidth,
       .what = "non-blocking gets, quiet at the end of each batch",
       .formula = "GB/s = size / p50; p50 = batch / gets",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<Get<Mode::kStreamNbi>>},
  };
}

}  // namespace weft::perf
