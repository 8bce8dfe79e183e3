// weft-perf. Exit status: 0 all right, 1 wrong data or a failure, 2 a mistake on the command line,
// 130 interrupted.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>

#include <weft/options.hpp>
#include <weft/runtime.hpp>

#include "perftest/interrupt.hpp"
#include "perftest/programs.hpp"
#include "perftest/run.hpp"
#include "perftest/run_info.hpp"
#include "perftest/start.hpp"

namespace weft::perf {
namespace {

enum Exit { kFine = 0, kFailed = 1, kMistake = 2, kInterrupted = 130 };

struct Work {
  Options options;
  bool claims = false;
  std::vector<const Row*> rows;
};

// Only the first one of many launched PEs speaks.
bool speaks() {
  auto options = weft::Options::from_environment();
  return !options || options->pe <= 0;
}

int complain(const Status& status, Exit code) {
  if (speaks()) fmt::print(stderr, "weft-perf: {}\n", status.text());
  return code;
}

Result<std::vector<const Row*>> rows_of(Options& options, bool& claims) {
  claims = std::erase(options.tests, "claims") > 0;
  if (options.tests.empty()) return std::vector<const Row*>();
  ASSIGN_OR_RETURN(auto rows, select(registry(), options));
  if (std::all_of(rows.begin(), rows.end(),
                  [&](const Row* row) { return points(*row, options).empty(); }))
    return Status::error(Code::kInvalidArgument,
                         fmt::format("-d/--datatype {}: no chosen test takes it with the chosen "
                                     "operation ('weft-perf list' explains each test)",
                                     options.type != nullptr ? options.type->name : "(default)"));
  return rows;
}

Status enough_pes(const Work& work, int npes) {
  int needed = work.claims ? 2 : 1;
  std::string name = "claims";
  for (const Row* row : work.rows)
    if (row->min_pes > needed) {
      needed = row->min_pes;
      name = id(*row);
    }
  if (npes >= needed) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{0} needs at least {1} PEs, and there is {2}; run one of\n"
                  "  weft-run -n {1} weft-perf {0}     {1} processes\n"
                  "  weft-perf --pes {1} {0}           {1} threads of this process",
                  name, needed, npes));
}

Result<Outcome> run_job(Runtime& runtime, const Work& work) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, Job::create(runtime, work.options));
  std::unique_ptr<Reporter> reporter;
  if (job->leads()) reporter = make_reporter(work.options, std::cout);
  if (reporter != nullptr) reporter->begin(describe_run(*job));
  Outcome outcome;
  if (!work.rows.empty()) {
    ASSIGN_OR_RETURN(outcome, run_tests(*job, work.rows, reporter.get()));
  }
  if (work.claims && !outcome.stopped) {
    ASSIGN_OR_RETURN(const Outcome claims, run_claims(*job, reporter.get()));
    outcome.wrong = outcome.wrong || claims.wrong;
    outcome.stopped = claims.stopped;
  }
  if (reporter != nullptr) reporter->end(outcome.stopped);
  return outcome;
}

// One PE, from its runtime to its exit status. A PE that fails ends the job, so that nobody waits.
Exit run_pe(Runtime& runtime, const Work& work) {
  if (Status status = enough_pes(work, runtime.npes()); !status) {
    if (runtime.pe() == 0) fmt::print(stderr, "weft-perf: {}\n", status.text());
    return kMistake;
  }
  auto outcome = run_job(runtime, work);
  if (outcome) return outcome->stopped ? kInterrupted : outcome->wrong ? kFailed : kFine;
  fmt::print(stderr, "weft-perf: PE {}: {}\n", runtime.pe(), outcome.status().to_string());
  runtime.abort(kFailed, outcome.status().text());
  return kFailed;
}

int run_as_threads(const Work& work) {
  std::vector<Exit> exits(static_cast<std::size_t>(work.options.pes), kFailed);
  const Status status = run_local(work.options.pes, [&](Runtime& runtime) {
    exits[static_cast<std::size_t>(runtime.pe())] = run_pe(runtime, work);
    return Status::ok();
  });
  if (!status) return complain(status, kFailed);
  return *std::max_element(exits.begin(), exits.end());
}

int run_launched(const Work& work) {
  auto runtime = Runtime::create();
  if (!runtime) {
    fmt::print(stderr, "weft-perf: {}\n", runtime.status().to_string());
    return kFailed;
  }
  return run_pe(*runtime, work);
}

int run(int argc, char** argv) {
  auto command = parse_command_line(argc, argv);
  if (!command) return complain(command.status(), kMistake);
  if (!command->text.empty()) {
    if (speaks()) fmt::print("{}", command->text);
    return kFine;
  }
  Work work{std::move(command->options), false, {}};
  if (std::count(work.options.tests.begin(), work.options.tests.end(), "list") > 0) {
    auto text = list(registry(), work.options);
    if (!text) return complain(text.status(), kMistake);
    if (speaks()) fmt::print("{}", *text);
    return kFine;
  }
  auto rows = rows_of(work.options, work.claims);
  if (!rows) return complain(rows.status(), kMistake);
  work.rows = *std::move(rows);
  catch_interrupts();
  return work.options.pes != 0 ? run_as_threads(work) : run_launched(work);
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
  if (const auto status = weft::perf::run_started_process(argc, argv)) return *status;
  if (const auto status = weft::perf::run_subcommand(argc, argv)) return *status;
  return weft::perf::run(argc, argv);
}
