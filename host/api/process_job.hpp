// ProcessJob: the process default behind the names of OpenSHMEM and NVSHMEM.
#pragma once

#include <mutex>

#include <weft/runtime.hpp>

namespace weft {

// -1 where there is no job.
inline int pe_of(const Runtime* rt) { return rt == nullptr ? -1 : rt->pe(); }
inline int npes_of(const Runtime* rt) { return rt == nullptr ? -1 : rt->npes(); }

struct ProcessJob {
  std::mutex mutex;  // guards start and end
  int starts = 0;    // calls of init that await their finalize
  int level = 0;     // of threads
  bool has_ended = false;
  bool aborted = false;
  Runtime* runtime = nullptr;

  // In a child of fork() the job is the parent's.
  bool is_inherited() const { return runtime != nullptr && runtime->is_inherited(); }
  // There it is not for the child to start or end: true, and reported.
  bool refuse_in_child(const char* routine) const {
    if (!is_inherited()) return false;
    const CallerName name(routine);
    report(runtime->health()).ignore();
    return true;
  }

  // Counts one finalize; end() at the last, with the mutex held. running(): the job, or what is
  // wrong is reported.
  template <class Running, class End>
  void finalize(const char* routine, Running running, End end) {
    if (refuse_in_child(routine)) return;
    const std::lock_guard lock(mutex);
    if (runtime == nullptr && has_ended) return;  // a second one has nothing left to do
    if (running() == nullptr || --starts > 0) return;
    const CallerName name(routine);
    end();
  }
};

}  // namespace weft
