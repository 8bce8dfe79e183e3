#include "bootstrap/choose.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "bootstrap/launchers.hpp"
#include "bootstrap/mpi/mpi.hpp"
#include "src/base/text.hpp"
#include "src/base/environment.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

constexpr const char* kMend =
    "Start the program with weft-run, or set WEFT_UNIQUE_ID, WEFT_PE and WEFT_NPES in every "
    "process";

// Variables by which launchers say how many processes they started, and which of them this is
// (null: another variable's business); by whom, and what helps when there is no way to meet the
// others.
struct Sign {
  const char* count;
  const char* rank;
  const char* launcher;
  const char* mend;
};
constexpr Sign kSigns[] = {
    {"OMPI_COMM_WORLD_SIZE", nullptr, "Open MPI's mpirun",
     "Let the PMIX_* variables through to the program"},
    {"PMI_SIZE", nullptr, "a PMI launcher",
     "Let the descriptor that PMI_FD names through to the program, and use no -pmi-port"},
    {"SLURM_STEP_NUM_TASKS", nullptr, "srun",
     "Add --mpi=pmi2 or --mpi=pmix (srun --mpi=list shows what there is)"},
    // Its agent starts processes and carries nothing between them that this library could speak.
    {"WORLD_SIZE", "RANK", "torchrun",
     "Make a unique id on rank 0 (UniqueId::create, in C weft_unique_id_create), carry its text to "
     "all ranks (torch.distributed.broadcast_object_list), and create the runtime from it with "
     "RANK and WORLD_SIZE (Runtime::create(id, pe, npes), in C weft_runtime_create_with_id)"},
};

// 1: no such launcher, or one that started this process alone.
int started_by(const Sign& sign, const Surroundings& surroundings) {
  if (sign.rank != nullptr && surroundings.number(sign.rank) < 0) return 1;
  return std::max(surroundings.number(sign.count), 1);
}

bool is_socket(int fd) {
  struct stat info {};
  return fd >= 0 && ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

// One PE where the user meant several would be a silent surprise.
Status check_single(const Options& options, const Surroundings& surroundings) {
  if (options.npes > 1) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("WEFT_NPES is {} but WEFT_UNIQUE_ID is not set. {}; for a job of one PE, set "
                    "WEFT_BOOTSTRAP=single",
                    options.npes, kMend));
  }
  for (const Sign& sign : kSigns) {
    const int count = started_by(sign, surroundings);
    if (count == 1) continue;
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{} started {} processes ({}={}) but offers this one no way to meet the "
                    "others. {}; or make each a job of one PE with WEFT_BOOTSTRAP=single",
                    sign.launcher, count, sign.count, count, sign.mend));
  }
  return Status::ok();
}

Status check_tcp(const Options& options) {
  if (options.unique_id.empty()) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("WEFT_BOOTSTRAP is tcp but WEFT_UNIQUE_ID is not set. {}", kMend));
  }
  if (options.pe < 0 || options.npes < 1) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format(
            "WEFT_UNIQUE_ID is set, but WEFT_PE is {} and WEFT_NPES is {} (-1: not set). {}",
            options.pe, options.npes, kMend));
  }
  return Status::ok();
}

Result<Choice> forced(const Options& options, const Surroundings& surroundings) {
  const std::string& wanted = options.bootstrap;
  Choice choice;
  choice.why = fmt::format("WEFT_BOOTSTRAP is {}", wanted);
  if (wanted == "tcp") {
    RETURN_IF_ERROR(check_tcp(options));
    choice.kind = BootstrapKind::kTcp;
  }
  for (const LauncherRow& row : launchers()) {
    if (wanted != row.name) continue;
    RETURN_IF_ERROR(row.check(surroundings));
    choice.kind = row.kind;
  }
  return choice;
}

// weft-run that starts mpirun that starts the program gives all processes the same PE.
Status check_one_launcher(const Options& options, const Surroundings& surroundings) {
  if (surroundings.number(kWeftRunPes) != options.npes) return Status::ok();
  const int outer = std::max(surroundings.number(kOuterProcesses), 1);
  for (const Sign& sign : kSigns) {
    const int count = started_by(sign, surroundings);
    if (count == 1 || count == outer || count == options.npes) continue;
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("two launchers have started this process: WEFT_NPES is {}, but {} started {} "
                    "({}={}). Start the program with one of them; in a job of weft-run inside the "
                    "other's, unset {}",
                    options.npes, sign.launcher, count, sign.count, count, sign.count));
  }
  return Status::ok();
}

// The nearest source comes first: what the user or weft-run set, and then launchers in the order of
// their rows.
Result<Choice> automatic(const Options& options, const Surroundings& surroundings) {
  if (!options.unique_id.empty()) {
    RETURN_IF_ERROR(check_tcp(options));
    RETURN_IF_ERROR(check_one_launcher(options, surroundings));
    return Choice{BootstrapKind::kTcp, "WEFT_UNIQUE_ID is set"};
  }
  for (const LauncherRow& row : launchers())
    if (std::string why = row.found(surroundings); !why.empty())
      return Choice{row.kind, std::move(why)};
  RETURN_IF_ERROR(check_single(options, surroundings));
  return Choice{BootstrapKind::kSingle, "no launcher is in sight"};
}

}  // namespace

std::string Surroundings::variable(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

int Surroundings::number(const std::string& name) const {
  const std::string text = variable(name);
  int value = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() ? value : -1;
}

Surroundings look_around() {
  Surroundings surroundings;
  const auto read = [&](const char* name) {
    if (name == nullptr) return;
    if (auto value = environment_value(name)) surroundings.variables[name] = std::move(*value);
  };
  for (const char* const name : {kOuterProcesses, kWeftRunPes}) read(name);
  for (const Sign& sign : kSigns)
    for (const char* const name : {sign.count, sign.rank}) read(name);
  for (const LauncherRow& row : launchers()) {
    for (const std::string_view name : words_of(row.variables)) read(std::string(name).c_str());
  }
  surroundings.pmi_socket = is_socket(surroundings.number("PMI_FD"));
  surroundings.mpi_running = mpi_is_running();
  return surroundings;
}

Result<Choice> choose(const Options& options, const Surroundings& surroundings) {
  return options.bootstrap == "auto" ? automatic(options, surroundings)
                                     : forced(options, surroundings);
}

int launched_processes(const Surroundings& surroundings) {
  int most = 1;
  for (const Sign& sign : kSigns) most = std::max(most, started_by(sign, surroundings));
  return most;
}

const char* to_string(BootstrapKind kind) {
  for (const LauncherRow& row : launchers())
    if (row.kind == kind) return row.name;
  return kind == BootstrapKind::kTcp ? "tcp" : "single";
}

}  // namespace weft
