#include "perftest/measure.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "perftest/interrupt.hpp"

namespace weft::perf {
namespace {

constexpr Count kMostSamples = 2000;
constexpr Count kFewestSamples = 5;
constexpr Count kLargestBatch = Count{1} << 24;

class Measurer {
 public:
  Measurer(Job& job, Test& test, const Plan& plan) : job_(job), test_(test), plan_(plan) {}

  Result<Measurement> run() {
    RETURN_IF_ERROR(prepare());
    RETURN_IF_ERROR(find_batch());
    RETURN_IF_ERROR(warm_up());
    RETURN_IF_ERROR(sample());
    RETURN_IF_ERROR(check());
    if (plan_.floor) RETURN_IF_ERROR(prove_each());
    return finish();
  }

 private:
  enum class Which { kWeft, kFloor };

  bool over() const { return result_.stopped || !result_.wrong.empty(); }

  Status prepare() {
    RETURN_IF_ERROR(job_.runtime().barrier());
    RETURN_IF_ERROR(test_.prepare());
    return job_.runtime().barrier();
  }

  // One sample on all PEs; the slowest counts. Ends with a barrier, so the next starts together.
  Result<double> time(Which which, Count iters) {
    ASSIGN_OR_RETURN(const Ns mine,
                     which == Which::kWeft ? test_.run(iters) : test_.run_floor(iters));
    RETURN_IF_ERROR(job_.rest(mine == 0));
    Report report;
    report.elapsed = mine;
    report.stop = interrupted() ? 1 : 0;
    ASSIGN_OR_RETURN(const std::vector<Report> all, job_.exchange(report));
    Ns slowest = 1;
    for (const Report& one : all) {
      slowest = std::max(slowest, one.elapsed);
      if (one.stop != 0) result_.stopped = true;
    }
    return static_cast<double>(slowest);
  }

  // Doubles until a sample is long enough for the clock; that is warm-up, too. All PEs see the same
  // times, so all find the same batch.
  Status find_batch() {
    const Count most = job_.options().iters == 0 ? kLargestBatch : job_.options().iters;
    batch_ = std::min(most, job_.options().window);
    for (;;) {
      ASSIGN_OR_RETURN(sample_ns_, time(Which::kWeft, batch_));
      if (sample_ns_ >= plan_.batch_ns || batch_ >= most || result_.stopped) break;
      const double factor = std::clamp(1.3 * plan_.batch_ns / sample_ns_, 2.0, 32.0);
      batch_ = std::min(most, static_cast<Count>(static_cast<double>(batch_) * factor));
    }
    return Status::ok();
  }

  Status warm_up() {
    if (plan_.floor) RETURN_IF_ERROR(time(Which::kFloor, batch_).status());
    if (job_.options().warmup == 0 || result_.stopped) return Status::ok();
    return time(Which::kWeft, job_.options().warmup).status();
  }

  Count samples() const {
    if (job_.options().iters != 0) return (job_.options().iters + batch_ - 1) / batch_;
    const double fit = plan_.seconds * 1e9 / sample_ns_;
    return std::clamp(static_cast<Count>(fit), kFewestSamples, kMostSamples);
  }

  // Weft and its baseline in turn, and in turn who is first.
  Status sample() {
    const double per_sample = static_cast<double>(batch_) * test_.work().operations;
    const Count wanted = samples();
    for (Count i = 0; i < wanted && !result_.stopped; ++i) {
      const Which first = i % 2 == 0 ? Which::kWeft : Which::kFloor;
      for (const Which which : {first, first == Which::kWeft ? Which::kFloor : Which::kWeft}) {
        if (which == Which::kFloor && !plan_.floor) continue;
        ASSIGN_OR_RETURN(const double ns, time(which, batch_));
        (which == Which::kWeft ? weft_ : baseline_).push_back(ns / per_sample);
      }
    }
    return Status::ok();
  }

  // Every PE looks at its own data; everybody learns the first complaint.
  Status check() {
    const Status status = test_.check();
    Report report;
    report.wrong = status ? 0 : 1;
    report.stop = interrupted() ? 1 : 0;
    const std::string_view text = status.text();
    text.copy(report.text, sizeof report.text - 1);
    ASSIGN_OR_RETURN(const std::vector<Report> all, job_.exchange(report));
    for (const Report& one : all) {
      if (one.wrong != 0 && result_.wrong.empty()) result_.wrong = one.text;
      if (one.stop != 0) result_.stopped = true;
    }
    return Status::ok();
  }

  // After interleaved samples the baseline might have done Weft's work: each has to pass alone.
  Status prove_each() {
    for (const Which which : {Which::kFloor, Which::kWeft}) {
      if (over()) return Status::ok();
      RETURN_IF_ERROR(prepare());
      RETURN_IF_ERROR(time(which, std::min<Count>(batch_, 1000)).status());
      RETURN_IF_ERROR(check());
    }
    return Status::ok();
  }

  Measurement finish() {
    result_.batch = batch_;
    result_.iters = batch_ * weft_.size();
    result_.ratio = paired_ratio(weft_, baseline_);
    result_.time = summarize(std::move(weft_));
    result_.floor = summarize(std::move(baseline_));
    return std::move(result_);
  }

  Job& job_;
  Test& test_;
  const Plan plan_;
  Count batch_ = 1;
  double sample_ns_ = 1;
  std::vector<double> weft_, baseline_;
  Measurement result_;
};

}  // namespace

Result<Ns> Test::run_floor(Count) {
  return Status::error(Code::kUnsupported, "this test has no hand-written baseline");
}

Result<Measurement> measure(Job& job, Test& test, const Plan& plan) {
  return Measurer(job, test, plan).run();
}

}  // namespace weft::perf
