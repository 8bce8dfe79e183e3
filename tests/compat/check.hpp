// CHECK for programs that are one PE of a job: prints what does not hold, and counts it for main().
#pragma once

#include <shmem.h>

#include <atomic>
#include <cstdio>

inline std::atomic<int> failed_checks{0};

inline void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  ++failed_checks;
  std::printf("PE %d: %s:%d: %s\n", shmem_my_pe(), file, line, what);
  std::fflush(stdout);
}

#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline int exit_status() { return failed_checks == 0 ? 0 : 1; }
