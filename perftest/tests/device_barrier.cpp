// barrier and sync inside kernels: one unit of every PE's kernel.
#include "perftest/tests/barrier_data.hpp"
#include "perftest/tests/kernel.hpp"

namespace weft::perf {
namespace {

template <bool kBarrier>
struct Body {
  static constexpr bool kAlone = true;
  Team team;

  template <class Scope>
  WEFT_DEVICE bool operator()(const dev::Context& ctx, Scope scope, Unit, Count) const {
    return kBarrier ? dev::barrier(ctx, scope, team) : dev::sync(ctx, scope, team);
  }
};

template <bool kBarrier>
class DeviceBarrier : public BarrierBase {
 public:
  using BarrierBase::BarrierBase;
  Result<Ns> run(Count iters) override {
    return run_kernel(job_, point_.scope, Body<kBarrier>{job_.runtime().world()}, iters);
  }

 private:
  Status meet() override { return run(1).status(); }
  // The puts of check() are the host's, which a kernel does not order.
  Status complete_and_meet() override {
    RETURN_IF_ERROR(job_.ctx().quiet());
    return meet();
  }
};

}  // namespace

std::vector<Row> device_barrier_rows() {
  return {
      {.name = "barrier",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "barrier of all PEs by one unit of each kernel",
       .formula = "time = kernel time / barriers, of the slowest PE",
       .floor = kFlagBarrier,
       .min_pes = 1,
       .uses = kUsesScope,
       .make = make<DeviceBarrier<true>>},
      {.name = "sync",
       .api = Api::kDevice,
       .kind = Kind::kLatency,
       .what = "sync of all PEs by one unit of each kernel",
       .formula = "time = kernel time / syncs, of the slowest PE",
       .floor = kFlagBarrier,
       .min_pes = 1,
       .uses = kUsesScope,
       .make = make<DeviceBarrier<false>>},
  };
}

}  // namespace weft::perf
