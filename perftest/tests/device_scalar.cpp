// p and g inside kernels: each thread moves every n-th element.
#include "perftest/tests/kernel.hpp"
#include "perftest/tests/scalar_data.hpp"

namespace weft::perf {
namespace {

enum class Mode { kPut, kPutEach, kGet };  // kPutEach: quiet after each element

template <Mode kMode, class T>
struct Body {
  static constexpr bool kAlone = false;
  T* dst;
  const T* src;
  std::size_t count;
  int peer;

  WEFT_DEVICE bool operator()(const dev::Context& ctx, dev::Thread thread, Unit unit, Count) const {
    for (std::size_t i = unit.index; i < count; i += unit.count) {
      if constexpr (kMode == Mode::kGet) {
        dst[i] = ctx.g(src + i, peer);
      } else {
        ctx.p(dst + i, src[i], peer);
      }
      if constexpr (kMode == Mode::kPutEach) ctx.quiet(thread);
    }
    return true;
  }
};

template <Mode kMode, class Base>
class DeviceScalar : public Base {
 public:
  using Base::Base;
  Result<Ns> run(Count iters) override {
    if (!this->job_.sends()) return Ns{0};
    return with_width(this->point_.type->bytes, [&](auto zero) {
      using T = decltype(zero);
      const Body<kMode, T> body{reinterpret_cast<T*>(this->dst_),
                                reinterpret_cast<const T*>(this->src_), this->point_.count(),
                                this->job_.peer()};
      return run_kernel(this->job_, dev::Thread{}, body, iters);
    });
  }
};

constexpr unsigned kUses = kUsesSize | kUsesType;
// One word each, as hardware stores and loads it.
bool is_word(const TypeInfo& type) { return type.bytes <= 8; }

}  // namespace

std::vector<Row> device_scalar_rows() {
  return {
      {.name = "p",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "p and quiet by one thread of a kernel",
       .formula = "time = kernel time / calls",
       .floor = kBareStore,
       .uses = kUsesType,
       .takes = is_word,
       .make = make<DeviceScalar<Mode::kPutEach, ScalarPut>>},
      {.name = "p",
       .api = Api::kDevice,
       .kind = Kind::kBandwidth,
       .what = "a message sent element by element with p, all threads taking turns",
       .formula = "GB/s = element / p50; p50 = kernel time / calls",
       .floor = kBareStore,
       .uses = kUses,
       .max = 64u << 10,
       .takes = is_word,
       .make = make<DeviceScalar<Mode::kPut, ScalarPut>>},
      {.name = "g",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "g by one thread of a kernel",
       .formula = "time = kernel time / calls",
       .floor = kBareLoad,
       .uses = kUsesType,
       .takes = is_word,
       .make = make<DeviceScalar<Mode::kGet, ScalarGet>>},
      {.name = "g",
       .api = Api::kDevice,
       .kind = Kind::kBandwidth,
       .what = "a message fetched element by element with g, all threads taking turns",
       .formula = "GB/s = element / p50; p50 = kernel time / calls",
       .floor = kBareLoad,
       .uses = kUses,
       .max = 64u << 10,
       .takes = is_word,
       .make = make<DeviceScalar<Mode::kGet, ScalarGet>>},
  };
}

}  // namespace weft::perf
