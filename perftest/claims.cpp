// The speeds that Weft promises on the CPU target, each measured beside its hand-written baseline.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "perftest/progress.hpp"
#include "perftest/run.hpp"
#include "perftest/run_info.hpp"
#include "perftest/start.hpp"

namespace weft::perf {
namespace {

constexpr double kSeconds = 0.5;  // for each
constexpr int kStartedPes = 4, kStarts = 7;
constexpr int kManyPes = 64;
constexpr std::size_t kGiB = std::size_t{1} << 30;

// A promise about one line of one row.
struct Promise {
  std::string what;
  std::string_view row;  // id, host API
  std::size_t bytes;
  std::string_view unit;  // "x": ratio to the baseline; "ns": time
  double limit;
};

std::vector<Promise> promises(int npes) {
  return {
      {"8-byte put to a mapped peer, a call", "put_rate", 8, "ns", 15},
      {"8-byte atomic add, against bare lock xadd", "atomic_rate", 8, "x", 1.3},
      {"1 MiB put, against memcpy (95 %)", "put_bw", 1u << 20, "x", 1 / 0.95},
      {"put_signal one way, against store and flag", "put_signal_lat", 8, "x", 1.2},
      {fmt::format("barrier of {} PEs, against flags", npes), "barrier_lat", 8, "x", 1.5},
  };
}

const Row* find_row(std::string_view name) {
  for (const Row& row : registry())
    if (row.api == Api::kHost && id(row) == name) return &row;
  return nullptr;
}

Result<Claim> measure_promise(Job& job, const Promise& promise, Outcome& outcome) {
  const Row* const row = find_row(promise.row);
  if (row == nullptr)
    return Status::error(Code::kInternal, fmt::format("there is no row {}", promise.row));
  Point point;
  point.bytes = promise.bytes;
  point.type = find_type(row->type);
  ASSIGN_OR_RETURN(const Line line, run_line(job, *row, point, true, kSeconds));
  const Measurement& m = line.measured;
  outcome.stopped = outcome.stopped || m.stopped;

  Claim claim;
  claim.what = promise.what;
  claim.measured = format_ns(m.time.p50);
  claim.floor = format_ns(m.floor.p50);
  claim.ratio = m.ratio;
  claim.value = promise.unit == "x" ? m.ratio : m.time.p50;
  claim.limit = promise.limit;
  claim.unit = promise.unit;
  claim.wrong = m.wrong;
  if (row->kind == Kind::kBandwidth)
    claim.note = fmt::format("{:.2f} GB/s, {:.1f} % of memcpy between the same mappings",
                             line.bandwidth(), m.ratio > 0 ? 100 / m.ratio : 0);
  return claim;
}

// PE 0 starts a job of its own, again and again; the others wait.
Result<Claim> measure_startup(Job& job) {
  std::vector<double> weft, bare;
  for (int i = 0; job.leads() && i < kStarts; ++i) {
    ASSIGN_OR_RETURN(const Ns with, start_processes(kStartedPes, Start::kWeft));
    ASSIGN_OR_RETURN(const Ns without, start_processes(kStartedPes, Start::kBare));
    weft.push_back(static_cast<double>(with));
    bare.push_back(static_cast<double>(without));
  }
  RETURN_IF_ERROR(job.runtime().barrier());
  Claim claim;
  claim.what = fmt::format("start-up of {} PEs as processes", kStartedPes);
  claim.ratio = paired_ratio(weft, bare);
  const Summary time = summarize(std::move(weft));
  claim.measured = format_ns(time.p50);
  claim.floor = format_ns(summarize(std::move(bare)).p50);
  claim.value = time.p50 / 1e6;
  claim.limit = 50;
  claim.unit = "ms";
  claim.note = fmt::format("from the first process made to the last Runtime; fastest of {}: {}",
                           kStarts, format_ns(time.min));
  return claim;
}

double grown_by(std::uint64_t before) {
  const std::uint64_t now = resident_bytes();
  return now > before ? static_cast<double>(now - before) : 0;
}

// A gibibyte that nobody touches.
Result<Claim> measure_untouched(Job& job) {
  Claim claim;
  claim.what = std::string("1 GiB of heap, not yet touched");
  claim.limit = 1;
  claim.unit = "MiB";
  const std::uint64_t before = resident_bytes();
  const Ns begin = now_ns();
  ASSIGN_OR_RETURN(void* const memory, job.runtime().allocate_bytes(kGiB));
  const auto took = static_cast<double>(now_ns() - begin);
  RETURN_IF_ERROR(job.runtime().barrier());
  claim.value = grown_by(before) / (1 << 20);
  claim.measured = fmt::format("{:.2f} MiB", claim.value);
  claim.note = fmt::format("resident memory that allocating it took, and {}", format_ns(took));
  RETURN_IF_ERROR(job.runtime().free(memory));
  return claim;
}

// The memory that n PEs as threads of this process take, and how their barrier compares with its
// baseline.
struct Crowd {
  double resident = 0;
  Measurement barrier;
};

Result<Crowd> measure_crowd(int npes, const Options& options, bool barrier) {
  Crowd crowd;
  const std::uint64_t before = resident_bytes();
  RETURN_IF_ERROR(run_local(npes, [&](Runtime& runtime) -> Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, Job::create(runtime, options));
    if (job->leads()) crowd.resident = grown_by(before);
    if (!barrier) return runtime.barrier();
    Point point;
    point.type = find_type("uint64");
    ASSIGN_OR_RETURN(Line line, run_line(*job, *find_row("barrier_lat"), point, true, kSeconds));
    if (job->leads()) crowd.barrier = std::move(line.measured);
    return Status::ok();
  }));
  return crowd;
}

// resident(n) = n * each + n * n * pair.
Result<std::array<Claim, 2>> measure_many(Job& job) {
  std::array<Claim, 2> claims;
  Crowd half, all;
  if (job.leads()) {
    ASSIGN_OR_RETURN(half, measure_crowd(kManyPes / 2, job.options(), false));
    ASSIGN_OR_RETURN(all, measure_crowd(kManyPes, job.options(), true));
  }
  RETURN_IF_ERROR(job.runtime().barrier());

  const double per_pe_all = all.resident / kManyPes;
  const double per_pe_half = half.resident / (kManyPes / 2.0);
  const double pair = std::max(0.0, (per_pe_all - per_pe_half) / (kManyPes / 2.0));
  Claim& memory = claims[0];
  memory.what = fmt::format("memory per peer, {} PEs as threads", kManyPes);
  memory.value = pair / 1024;
  memory.measured = fmt::format("{:.2f} KiB", memory.value);
  memory.limit = 16;
  memory.unit = "KiB";
  memory.note = fmt::format("resident: {:.0f} KiB a PE at {} PEs, {:.0f} KiB a PE at {}",
                            per_pe_half / 1024, kManyPes / 2, per_pe_all / 1024, kManyPes);

  Claim& barrier = claims[1];
  barrier.what = fmt::format("barrier of {} PEs as threads, against flags", kManyPes);
  barrier.measured = format_ns(all.barrier.time.p50);
  barrier.floor = format_ns(all.barrier.floor.p50);
  barrier.ratio = barrier.value = all.barrier.ratio;
  barrier.limit = 1.5;
  barrier.unit = "x";
  barrier.wrong = all.barrier.wrong;
  barrier.note = fmt::format("the baseline sends log2({}) = {:.0f} flags a PE, in as many rounds",
                             kManyPes, std::log2(kManyPes));
  return claims;
}

class Collector {
 public:
  Collector(Reporter* reporter, Outcome& outcome, Progress& progress)
      : reporter_(reporter), outcome_(outcome), progress_(progress) {}
  void add(const Claim& claim) {
    progress_.clear();
    outcome_.wrong = outcome_.wrong || !claim.wrong.empty();
    if (reporter_ != nullptr && !outcome_.stopped) reporter_->add(claim);
  }

 private:
  Reporter* reporter_;
  Outcome& outcome_;
  Progress& progress_;
};

}  // namespace

Result<Outcome> run_claims(Job& job, Reporter* reporter) {
  const std::vector<Promise> all = promises(job.npes());
  Outcome outcome;
  Progress progress(reporter != nullptr, all.size() + 3);
  Collector collector(reporter, outcome, progress);
  for (const Promise& promise : all) {
    progress.step(promise.what);
    ASSIGN_OR_RETURN(const Claim claim, measure_promise(job, promise, outcome));
    if (outcome.stopped) return outcome;
    collector.add(claim);
  }
  progress.step("start-up");
  ASSIGN_OR_RETURN(const Claim startup, measure_startup(job));
  collector.add(startup);
  progress.step("heap");
  ASSIGN_OR_RETURN(const Claim untouched, measure_untouched(job));
  collector.add(untouched);
  progress.step("64 PEs");
  ASSIGN_OR_RETURN(const auto many, measure_many(job));
  for (const Claim& claim : many) collector.add(claim);
  return outcome;
}

}  // namespace weft::perf
