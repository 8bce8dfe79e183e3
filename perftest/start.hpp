// Starting a job of processes and waiting until all of them are PEs.
#pragma once

#include <optional>

#include <weft/result.hpp>

#include "perftest/timer.hpp"

namespace weft::perf {

enum class Start { kWeft, kBare };  // kBare: the processes say that they run, and nothing else

// From before the first process is made until the last one has its Runtime.
Result<Ns> start_processes(int npes, Start what);

// Such a process runs this instead of main's usual business; nothing if this process is not one.
std::optional<int> run_started_process(int argc, char** argv);

}  // namespace weft::perf
