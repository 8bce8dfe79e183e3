// Starting a job: as many processes as this job has PEs, by PE 0.
#include "perftest/start.hpp"
#include "perftest/tests/make.hpp"

namespace weft::perf {
namespace {

class Startup : public Test {
 public:
  Startup(Job& job, const Point&) : job_(job) {}
  Status allocate() { return Status::ok(); }
  Status prepare() override { return Status::ok(); }
  Result<Ns> run(Count iters) override { return start(iters, Start::kWeft); }
  Result<Ns> run_floor(Count iters) override { return start(iters, Start::kBare); }
  Status check() override { return Status::ok(); }  // run fails unless every PE came up

 private:
  Result<Ns> start(Count iters, Start what) {
    Ns total = 0;
    for (Count i = 0; job_.leads() && i < iters; ++i) {
      ASSIGN_OR_RETURN(const Ns ns, start_processes(job_.npes(), what));
      total += ns;
    }
    return total;
  }

  Job& job_;
};

}  // namespace

std::vector<Row> startup_rows() {
  return {
      {.name = "startup",
       .kind = Kind::kLatency,
       .what = "start of as many processes as there are PEs here, until each has its Runtime",
       .formula = "time = from the first process's creation to the last Runtime::create's return",
       .floor = "as many processes that only say that they run",
       .min_pes = 1,
       .pinned = false,
       .make = make<Startup>},
  };
}

}  // namespace weft::perf
