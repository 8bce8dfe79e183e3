// Keeps a PE's thread on a core of its own while it is measured.
//
// PEs that spin for each other on one core take turns at the scheduler's pace, a hundred times
// slower than the memory between two cores; and some schedulers do put them on one core. So host
// tests pin their PEs, as far as there are cores; what the user has bound already stays as it is.
// Kernels and started processes are not pinned, since they would inherit one core for all of them.
#pragma once

#include <sched.h>

#include "perftest/job.hpp"

namespace weft::perf {

// The core that this PE would be pinned to; -1 if there are fewer than PEs on this host.
int own_core(const Job& job);

class Pin {
 public:
  Pin(const Job& job, bool wanted);
  ~Pin();
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  cpu_set_t before_{};
  bool pinned_ = false;
};

}  // namespace weft::perf
