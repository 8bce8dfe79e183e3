// weft-perf. Exit status: 0 all right, 1 wrong data or a failure, 2 a mistake on the command line,
// 130 interrupted.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <weft/options.hpp>
#include <weft/runtime.hpp>

#include "perftest/interrupt.hpp"
#include "perftest/module.hpp"
#include "perftest/run.hpp"
#include "perftest/run_info.hpp"
#include "perftest/start.hpp"

namespace weft::perf {
namespace {

enum Exit { kFine = 0, kFailed = 1, kMistake = 2, kInterrupted = 130 };

struct Work {
  Options options;
  bool claims = false;
  Modules modules;
  std::vector<Row> registry;
  std::vector<const Row*> rows;  // of the registry
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

bool lists(const Options& options) {
  return std::count(options.tests.begin(), options.tests.end(), "list") > 0;
}

// Modules are opened where a name is none of weft-perf's own rows.
void find_rows(Work& work) {
  Options every = work.options;
  every.api.reset();
  every.kind.reset();
  const auto take = [&](const std::vector<Row>& more) {
    work.registry = registry();
    work.registry.insert(work.registry.end(), more.begin(), more.end());
  };
  work.modules = open_modules(module_folders(), [&](const std::vector<Row>& more) {
    take(more);
    return !lists(every) && (every.tests.empty() || select(work.registry, every).is_ok());
  });
  take(work.modules.rows());
}

// A module that is missing may have the name that nothing else has.
Status also_missing(const Status& status, const Modules& modules) {
  if (modules.missing.empty()) return status;
  return Status::error(status.code(), fmt::format("{}. Not here: {}", status.text(),
                                                  fmt::join(modules.missing, "; ")));
}

Status choose_rows(Work& work) {
  Options& options = work.options;
  work.claims = std::erase(options.tests, "claims") > 0;
  find_rows(work);
  if (lists(options) || (work.claims && options.tests.empty())) return Status::ok();
  auto rows = select(work.registry, options);
  if (!rows) return also_missing(rows.status(), work.modules);
  if (std::all_of(rows->begin(), rows->end(),
                  [&](const Row* row) { return points(*row, options).empty(); }))
    return Status::error(Code::kInvalidArgument,
                         fmt::format("-d/--datatype {}: no chosen test takes it with the chosen "
                                     "operation ('weft-perf list' explains each test)",
                                     options.type != nullptr ? options.type->name : "(default)"));
  work.rows = *std::move(rows);
  return Status::ok();
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

Status enough_gpus(const Work& work, const Runtime& runtime) {
  for (const Row* row : work.rows)
    if (row->gpu && runtime.gpu() < 0)
      return Status::error(Code::kUnsupported,
                           fmt::format("{} needs a GPU for each PE, and PE {} has none; weft-info "
                                       "says why",
                                       id(*row), runtime.pe()));
  return Status::ok();
}

std::string gpu_of(const Work& work, const Runtime& runtime) {
  if (runtime.gpu() < 0) return "";
  for (const Module& module : work.modules.found)
    if (module.gpu_name != nullptr) return module.gpu_name(runtime.gpu());
  return "";
}

Result<Outcome> run_job(Runtime& runtime, const Work& work) {
  RETURN_IF_ERROR(enough_gpus(work, runtime));
  ASSIGN_OR_RETURN(const std::unique_ptr<Job> job, Job::create(runtime, work.options));
  std::unique_ptr<Reporter> reporter;
  if (job->leads()) reporter = make_reporter(work.options, std::cout);
  if (reporter != nullptr) {
    RunInfo info = describe_run(*job);
    info.gpu = gpu_of(work, runtime);
    reporter->begin(info);
  }
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
  const auto options = weft::Options::from_environment();
  if (!options) return complain(options.status(), kMistake);
  std::vector<Exit> exits(static_cast<std::size_t>(work.options.pes), kFailed);
  const auto body = [&](Runtime& runtime) {
    exits[static_cast<std::size_t>(runtime.pe())] = run_pe(runtime, work);
    return Status::ok();
  };
  const Status status = run_local(work.options.pes, body, *options);
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

// Rows that end before this process is a PE; each PE reports.
Status run_starts(Work& work) {
  for (const Row* row : work.rows) {
    if (row->start == nullptr) continue;
    const auto reporter = make_reporter(work.options, std::cout);
    reporter->start(*row);
    RETURN_IF_ERROR(row->start(work.options, *row, *reporter));
    reporter->finish(*row);
    reporter->end(false);
  }
  std::erase_if(work.rows, [](const Row* row) { return row->start != nullptr; });
  return Status::ok();
}

int run(int argc, char** argv) {
  auto command = parse_command_line(argc, argv);
  if (!command) return complain(command.status(), kMistake);
  if (!command->text.empty()) {
    if (speaks()) fmt::print("{}", command->text);
    return kFine;
  }
  Work work;
  work.options = std::move(command->options);
  if (Status status = choose_rows(work); !status) return complain(status, kMistake);
  if (lists(work.options)) {
    auto text = list(work.registry, work.options);
    if (!text) return complain(also_missing(text.status(), work.modules), kMistake);
    if (speaks()) fmt::print("{}\n{}", *text, work.modules.notes());
    return kFine;
  }
  if (Status status = run_starts(work); !status) {
    fmt::print(stderr, "weft-perf: {}\n", status.to_string());
    return kFailed;
  }
  if (work.rows.empty() && !work.claims) return kFine;
  // Rows that time themselves do not look for one.
  if (std::none_of(work.rows.begin(), work.rows.end(),
                   [](auto* row) { return row->run != nullptr; }))
    catch_interrupts();
  return work.options.pes != 0 ? run_as_threads(work) : run_launched(work);
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
  if (const auto status = weft::perf::run_started_process(argc, argv)) return *status;
  return weft::perf::run(argc, argv);
}
