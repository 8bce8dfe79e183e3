// put inside kernels: each unit of the scope (thread, warp or block) sends its share.
#include "perftest/elements.hpp"
#include "perftest/tests/kernel.hpp"
#include "perftest/tests/transfer.hpp"

namespace weft::perf {
namespace {

enum class Mode { kEach, kStream, kStreamNbi };  // quiet after each put, or once at the end

template <Mode kMode, class T>
struct Body {
  static constexpr bool kAlone = false;
  T* dst;
  const T* src;
  std::size_t count;
  int peer;

  template <class Scope>
  WEFT_DEVICE bool operator()(const dev::Context& ctx, Scope scope, Unit unit, Count) const {
    const Share share = share_of(count, unit);
    if (share.count == 0) return true;
    T* const to = dst + share.first;
    const T* const from = src + share.first;
    if constexpr (kMode == Mode::kStreamNbi) {
      ctx.put_nbi(scope, to, from, share.count, peer);
    } else {
      ctx.put(scope, to, from, share.count, peer);
    }
    if constexpr (kMode == Mode::kEach) ctx.quiet(scope);
    return true;
  }
};

template <Mode kMode>
class DevicePut : public PutTest {
 public:
  using PutTest::PutTest;
  Result<Ns> run(Count iters) override {
    if (!job_.sends()) return Ns{0};
    return with_width(point_.type->bytes, [&](auto zero) {
      using T = decltype(zero);
      const Body<kMode, T> body{reinterpret_cast<T*>(dst_), reinterpret_cast<const T*>(src_),
                                point_.count(), job_.peer()};
      return run_kernel(job_, point_.scope, body, iters);
    });
  }
};

constexpr std::string_view kBaseline = "memcpy to the same mapping by one host thread";
constexpr unsigned kUses = kUsesSize | kUsesType | kUsesScope;

}  // namespace

std::vector<Row> device_put_rows() {
  return {
      {.name = "put",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "put and quiet in a kernel, the message split among the units of the scope",
       .formula = "time = kernel time / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<DevicePut<Mode::kEach>>},
      {.name = "put",
       .api = Api::kDevice,
       .kind = Kind::kBandwidth,
       .what = "puts in a kernel one after the other, quiet at the end",
       .formula = "GB/s = size / p50; p50 = kernel time / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<DevicePut<Mode::kStream>>},
      {.name = "put_nbi",
       .api = Api::kDevice,
       .kind = Kind::kBandwidth,
       .what = "non-blocking puts in a kernel, quiet at the end",
       .formula = "GB/s = size / p50; p50 = kernel time / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<DevicePut<Mode::kStreamNbi>>},
      {.name = "put_nbi",
       .api = Api::kDevice,
       .kind = Kind::kRate,
       .what = "message rate of small non-blocking puts in a kernel, one message per iteration",
       .formula = "Mop/s = 1 / p50; p50 = kernel time / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .max = 64,
       .make = make<DevicePut<Mode::kStreamNbi>>},
  };
}

}  // namespace weft::perf
