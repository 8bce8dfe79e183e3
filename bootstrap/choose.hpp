// Which bootstrap, and why: a pure function of the options and of what surrounds the process.
#pragma once

#include <map>
#include <string>

#include <weft/options.hpp>
#include <weft/result.hpp>

namespace weft {

enum class BootstrapKind {
  kSingle,
  kTcp,
#define WEFT_LAUNCHER(kind, name, variables) kind,
#include "bootstrap/launchers.def.hpp"
};

// Variables and sockets that launchers leave for the processes that they start.
struct Surroundings {
  std::map<std::string, std::string> variables;
  bool pmi_socket = false;   // PMI_FD is an open socket
  bool mpi_running = false;  // this process has initialised MPI and not finalised it

  // Empty if it is not set.
  std::string variable(const std::string& name) const;
  // -1 if it is not set, or is no number.
  int number(const std::string& name) const;
};
Surroundings look_around();

struct Choice {
  BootstrapKind kind = BootstrapKind::kSingle;
  std::string why;
};
// A launcher that is there but cannot be used is an error, never a job of one PE.
Result<Choice> choose(const Options& options, const Surroundings& surroundings);

// How many processes the launcher says it started; 1 if there is no launcher.
int launched_processes(const Surroundings& surroundings);
// Set by weft-run for its PEs: that number as it was for weft-run itself, and how many PEs there
// are. So a PE can tell a launcher around weft-run from one that weft-run has started, and both
// from a job that a PE has started by hand.
inline constexpr const char* kOuterProcesses = "WEFTRUN_OUTER_PROCESSES";
inline constexpr const char* kWeftRunPes = "WEFTRUN_NPES";

// As WEFT_BOOTSTRAP has it.
const char* to_string(BootstrapKind kind);

}  // namespace weft
