// barrier and sync of all PEs, host API.
#include "perftest/tests/barrier_data.hpp"

namespace weft::perf {
namespace {

class Barrier : public BarrierBase {
 public:
  using BarrierBase::BarrierBase;
  Result<Ns> run(Count iters) override {
    return time_loop(iters, [&](Count) { return meet(); });
  }

 private:
  Status meet() override { return barrier(job_.ctx(), job_.runtime().world()); }
  Status complete_and_meet() override { return meet(); }
};

class Sync : public BarrierBase {
 public:
  using BarrierBase::BarrierBase;
  Result<Ns> run(Count iters) override {
    return time_loop(iters, [&](Count) { return meet(); });
  }

 private:
  Status meet() override { return sync(job_.ctx(), job_.runtime().world()); }
  Status complete_and_meet() override {
    RETURN_IF_ERROR(job_.ctx().quiet());
    return meet();
  }
};

}  // namespace

std::vector<Row> barrier_rows() {
  return {
      {.name = "barrier",
       .kind = Kind::kLatency,
       .what = "barrier of all PEs: everyone has arrived, all puts are complete",
       .formula = "time = batch / barriers, of the slowest PE",
       .floor = kFlagBarrier,
       .min_pes = 1,
       .make = make<Barrier>},
      {.name = "sync",
       .kind = Kind::kLatency,
       .what = "sync of all PEs: everyone has arrived",
       .formula = "time = batch / syncs, of the slowest PE",
       .floor = kFlagBarrier,
       .min_pes = 1,
       .make = make<Sync>},
  };
}

}  // namespace weft::perf
