// Programs beside weft-perf that are subcommands of it: "weft-perf tune ARGUMENTS".
#pragma once

#include <optional>

namespace weft::perf {

// Becomes the program that the first argument names. Returns where it names none, or an exit
// status, having said why, where the program cannot be run.
std::optional<int> run_subcommand(int argc, char** argv);

}  // namespace weft::perf
