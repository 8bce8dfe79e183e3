// put: one message to the peer.
#include "perftest/elements.hpp"
#include "perftest/tests/transfer.hpp"

namespace weft::perf {
namespace {

enum class Mode { kEach, kStream, kStreamNbi };  // quiet after each put, or once at the end

template <Mode kMode>
class Put : public PutTest {
 public:
  using PutTest::PutTest;

  Result<Ns> run(Count iters) override {
    if (!job_.sends()) return Ns{0};
    return with_width(point_.type->bytes, [&](auto zero) { return send(zero, iters); });
  }

 private:
  template <class T>
  Result<Ns> send(T, Count iters) {
    Context& ctx = job_.ctx();
    const int peer = job_.peer();
    auto* const dst = reinterpret_cast<T*>(dst_);
    const auto* const src = reinterpret_cast<const T*>(src_);
    const std::size_t count = point_.count();
    const auto quiet = [&ctx] { return ctx.quiet(); };
    if constexpr (kMode == Mode::kEach) {
      return time_loop(iters, [=, &ctx](Count) {
        RETURN_IF_ERROR(ctx.put(dst, src, count, peer));
        return ctx.quiet();
      });
    } else if constexpr (kMode == Mode::kStream) {
      return time_loop(
          iters, [=, &ctx](Count) { return ctx.put(dst, src, count, peer); }, quiet);
    } else {
      return time_loop(
          iters, [=, &ctx](Count) { return ctx.put_nbi(dst, src, count, peer); }, quiet);
    }
  }
};

constexpr std::string_view kBaseline = "memcpy to the same mapping (8 bytes: one store)";
constexpr unsigned kUses = kUsesSize | kUsesType;

}  // namespace

std::vector<Row> put_rows() {
  return {
      {.name = "put",
       .kind = Kind::kLatency,
       .what = "put and quiet: one message until it is complete at the peer",
       .formula = "time = batch / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<Put<Mode::kEach>>},
      {.name = "put",
       .kind = Kind::kBandwidth,
       .what = "puts one after the other, quiet at the end of each batch",
       .formula = "GB/s = size / p50; p50 = batch / puts",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<Put<Mode::kStream>>},
      {.name = "put",
       .kind = Kind::kRate,
       .what = "message rate of small blocking puts",
       .formula = "Mop/s = 1 / p50; p50 = batch / puts",
       .floor = kBaseline,
       .uses = kUses,
       .max = 64,
       .make = make<Put<Mode::kStream>>},
      {.name = "put_nbi",
       .kind = Kind::kBandwidth,
       .what = "non-blocking puts, quiet at the end of each batch",
       .formula = "GB/s = size / p50; p50 = batch / puts",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<Put<Mode::kStreamNbi>>},
      {.name = "put_nbi",
       .kind = Kind::kRate,
       .what = "message rate of small non-blocking puts",
       .formula = "Mop/s = 1 / p50; p50 = batch / puts",
       .floor = kBaseline,
       .uses = kUses,
       .max = 64,
       .make = make<Put<Mode::kStreamNbi>>},
  };
}

}  // namespace weft::perf
