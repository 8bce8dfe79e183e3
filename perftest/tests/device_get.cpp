// get inside kernels: each unit of the scope fetches its share.
#include "perftest/elements.hpp"
#include "perftest/tests/kernel.hpp"
#include "perftest/tests/transfer.hpp"

namespace weft::perf {
namespace {

template <bool kNbi, class T>
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
    if constexpr (kNbi) {
      ctx.get_nbi(scope, dst + share.first, src + share.first, share.count, peer);
    } else {
      ctx.get(scope, dst + share.first, src + share.first, share.count, peer);
    }
    return true;
  }
};

template <bool kNbi>
class DeviceGet : public GetTest {
 public:
  using GetTest::GetTest;
  Result<Ns> run(Count iters) override {
    if (!job_.sends()) return Ns{0};
    return with_width(point_.type->bytes, [&](auto zero) {
      using T = decltype(zero);
      const Body<kNbi, T> body{reinterpret_cast<T*>(dst_), reinterpret_cast<const T*>(src_),
                               point_.count(), job_.peer()};
      return run_kernel(job_, point_.scope, body, iters);
    });
  }
};

constexpr std::string_view kBaseline = "memcpy from the same mapping by one host thread";
constexpr unsigned kUses = kUsesSize | kUsesType | kUsesScope;

}  // namespace

std::vector<Row> device_get_rows() {
  return {
      {.name = "get",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "get in a kernel, the message split among the units of the scope",
       .formula = "time = kernel time / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<DeviceGet<false>>},
      {.name = "get",
       .api = Api::kDevice,
       .kind = Kind::kBandwidth,
       .what = "gets in a kernel one after the other",
       .formula = "GB/s = size / p50; p50 = kernel time / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<DeviceGet<false>>},
      {.name = "get_nbi",
       .api = Api::kDevice,
       .kind = Kind::kBandwidth,
       .what = "non-blocking gets in a kernel, quiet at the end",
       .formula = "GB/s = size / p50; p50 = kernel time / iterations",
       .floor = kBaseline,
       .uses = kUses,
       .make = make<DeviceGet<true>>},
  };
}

}  // namespace weft::perf
