// The environment variables that NVSHMEM names itself.
#include "host/api/environment.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <weft/version.hpp>

#include "host/api/nvshmem/state.hpp"

namespace weft::nvshmem {
namespace {

const char* nvshmem_variable(const std::string& name) { return variable("NVSHMEM_" + name); }

std::string_view variable_or(const char* name, std::string_view otherwise) {
  const char* const value = nvshmem_variable(name);
  return value == nullptr ? otherwise : value;
}

// The value of NVSHMEM_x, the variable `from`, as that of WEFT_y, unless that is set.
Status take(Options* options, const char* weft_name, const std::string& value, const char* from) {
  return variable(weft_name) != nullptr ? Status::ok() : options->set(weft_name, value, from);
}

// The heaps also hold what teams and kernels need; the program's share must not be smaller for
// that. Memory that is not used is not taken.
Status read_size(Options* options) {
  const char* const text = nvshmem_variable("SYMMETRIC_SIZE");
  if (text == nullptr) return Status::ok();
  constexpr const char* kName = "NVSHMEM_SYMMETRIC_SIZE";
  const double bytes = bytes_in(text);
  if (bytes < 0 || bytes > std::ldexp(1.0, 43))
    return Status::error(Code::kInvalidArgument,
                         fmt::format("NVSHMEM_SYMMETRIC_SIZE=\"{}\" is not a size: a number of "
                                     "bytes up to 8T, which may end in K, M, G or T",
                                     text));
  constexpr double kOwnShare = 256.0 * 1024 * 1024;
  const std::string size = std::to_string(static_cast<unsigned long long>(bytes + kOwnShare));
  Status taken = take(options, "WEFT_GPU_HEAP_SIZE", size, kName);
  return taken ? take(options, "WEFT_HEAP_SIZE", size, kName) : taken;
}

Status read_debug(Options*) {
  if (const char* const file = nvshmem_variable("DEBUG_FILE")) set_default("WEFT_LOG_FILE", file);
  const std::string_view level = variable_or("DEBUG", "");
  constexpr std::pair<std::string_view, const char*> kLevels[] = {
      {"INFO", "info"}, {"TRACE", "trace"}, {"WARN", "warn"}};  // VERSION: see greet()
  for (const auto& [theirs, ours] : kLevels)
    if (theirs == level) set_default("WEFT_LOG", ours);
  return Status::ok();
}

// A process that weft-run started has met the others already, whatever a script has set.
Status read_bootstrap(Options* options) {
  if (!options->unique_id.empty()) return Status::ok();
  const std::string_view wanted = variable_or("BOOTSTRAP", "");
  if (wanted == "MPI") return take(options, "WEFT_BOOTSTRAP", "mpi", "NVSHMEM_BOOTSTRAP");
  if (wanted != "PMI") return Status::ok();
  const std::string_view pmi = variable_or("BOOTSTRAP_PMI", "");
  constexpr std::pair<std::string_view, const char*> kPmi[] = {
      {"PMI", "pmi1"}, {"PMI-2", "pmi2"}, {"PMI2", "pmi2"}, {"PMIX", "pmix"}};
  for (const auto& [theirs, ours] : kPmi)
    if (theirs == pmi) return take(options, "WEFT_BOOTSTRAP", ours, "NVSHMEM_BOOTSTRAP_PMI");
  return Status::ok();
}

// NVSHMEM counts without the predefined ones.
Status read_teams(Options* options) {
  const char* const text = nvshmem_variable("MAX_TEAMS");
  if (text == nullptr) return Status::ok();
  const double teams = bytes_in(text);
  if (teams < 1 || teams > 4000)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("NVSHMEM_MAX_TEAMS=\"{}\" is not a number of teams in 1..4000", text));
  constexpr int kPredefined = 4;
  return take(options, "WEFT_MAX_TEAMS", std::to_string(static_cast<int>(teams) + kPredefined),
              "NVSHMEM_MAX_TEAMS");
}

}  // namespace

Status read_environment(Options* options) {
  for (const auto read : {read_size, read_debug, read_bootstrap, read_teams})
    if (Status status = read(options); !status) return status;
  return Status::ok();
}

void greet(const Runtime& rt) {
  if (rt.pe() != 0) return;
  if (nvshmem_variable("VERSION") != nullptr || variable_or("DEBUG", "") == "VERSION")
    std::printf("Weft %s, %s\n", WEFT_VERSION, NVSHMEM_VENDOR_STRING);
  if (nvshmem_variable("INFO") != nullptr)
    std::puts(
        "NVSHMEM_VERSION         print the library's version at start\n"
        "NVSHMEM_INFO            print this text at start\n"
        "NVSHMEM_SYMMETRIC_SIZE  most bytes of the symmetric heap: a number, then K, M, G or T\n"
        "NVSHMEM_MAX_TEAMS       most teams at a time beside the predefined ones\n"
        "NVSHMEM_BOOTSTRAP       MPI, or PMI with NVSHMEM_BOOTSTRAP_PMI (PMI, PMI-2, PMIX)\n"
        "NVSHMEM_DEBUG           VERSION, WARN, INFO or TRACE; NVSHMEM_DEBUG_FILE takes the log\n"
        "Weft's own variables come first: weft-info --options");
  std::fflush(stdout);
}

}  // namespace weft::nvshmem
