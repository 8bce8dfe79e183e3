// p and g: one element a call.
#include "perftest/tests/scalar_data.hpp"

namespace weft::perf {
namespace {

// kEach: quiet after each element.
template <bool kEach>
class P : public ScalarPut {
 public:
  using ScalarPut::ScalarPut;

  Result<Ns> run(Count iters) override {
    if (!job_.sends()) return Ns{0};
    return with_width(point_.type->bytes, [&](auto zero) { return store(zero, iters); });
  }

 private:
  template <class T>
  Result<Ns> store(T, Count iters) {
    Context& ctx = job_.ctx();
    const int peer = job_.peer();
    auto* const dst = reinterpret_cast<T*>(dst_);
    const auto* const src = reinterpret_cast<const T*>(src_);
    const std::size_t count = point_.count();
    return time_loop(
        iters,
        [=, &ctx](Count) {
          for (std::size_t i = 0; i < count; ++i) {
            RETURN_IF_ERROR(ctx.p(dst + i, src[i], peer));
            if constexpr (kEach) RETURN_IF_ERROR(ctx.quiet());
          }
          return Status::ok();
        },
        [&ctx] { return ctx.quiet(); });
  }
};

class G : public ScalarGet {
 public:
  using ScalarGet::ScalarGet;

  Result<Ns> run(Count iters) override {
    if (!job_.sends()) return Ns{0};
    return with_width(point_.type->bytes, [&](auto zero) { return load(zero, iters); });
  }

 private:
  template <class T>
  Result<Ns> load(T, Count iters) {
    Context& ctx = job_.ctx();
    const int peer = job_.peer();
    auto* const dst = reinterpret_cast<T*>(dst_);
    const auto* const src = reinterpret_cast<const T*>(src_);
    const std::size_t count = point_.count();
    return time_loop(iters, [=, &ctx](Count) {
      for (std::size_t i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(dst[i], ctx.g(src + i, peer));
      }
      return Status::ok();
    });
  }
};

constexpr unsigned kUses = kUsesSize | kUsesType;

}  // namespace

std::vector<Row> scalar_rows() {
  return {
      {.name = "p",
       .kind = Kind::kLatency,
       .what = "p and quiet: one element until it is complete at the peer",
       .formula = "time = batch / calls",
       .floor = kBareStore,
       .uses = kUsesType,
       .make = make<P<true>>},
      {.name = "p",
       .kind = Kind::kBandwidth,
       .what = "a message sent element by element with p, then quiet",
       .formula = "GB/s = element / p50; p50 = batch / calls",
       .floor = kBareStore,
       .uses = kUses,
       .max = 64u << 10,
       .make = make<P<false>>},
      {.name = "g",
       .kind = Kind::kLatency,
       .what = "g: one element until it is here",
       .formula = "time = batch / calls",
       .floor = kBareLoad,
       .uses = kUsesType,
       .make = make<G>},
      {.name = "g",
       .kind = Kind::kBandwidth,
       .what = "a message fetched element by element with g",
       .formula = "GB/s = element / p50; p50 = batch / calls",
       .floor = kBareLoad,
       .uses = kUses,
       .max = 64u << 10,
       .make = make<G>},
  };
}

}  // namespace weft::perf
