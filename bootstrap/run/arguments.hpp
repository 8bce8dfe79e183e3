// The command line of weft-run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/options.hpp>

#include "bootstrap/run/bind.hpp"
#include "bootstrap/run/hosts.hpp"

namespace weft::run {

struct Arguments {
  int npes = 0;
  bool prefix = false;
  std::string output_dir;
  double grace_s = 5;
  double timeout_s = 0;  // 0: none
  BindTo bind = BindTo::kNone;
  bool report_bindings = false;
  bool pmi = true;          // serve PMI-1 to programs that speak it
  std::vector<Host> hosts;  // none: this one
  std::string rsh;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> command;  // the program and its own arguments, untouched
  std::string program;               // where command[0] was found
};

// Exit statuses of weft-run itself, as shells and timeout(1) have them.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignal = 128;  // + the signal

// The exit status if there is nothing to run: wrong usage (said on standard error), or --help.
std::optional<int> parse_arguments(int argc, char** argv, Arguments& arguments);

}  // namespace weft::run
