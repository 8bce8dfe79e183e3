// The code that the programs of peers share: how their processes, which weft-run starts, find each
// other.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "perftest/gpu/kernel_points.hpp"

namespace weft::perf::gpu {

[[noreturn]] inline void fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
}

// A line for gpu_table.py: who, row, shape, bytes, value, unit; bandwidth for streams, else the
// time of one operation.
inline void print_line(const char* who, const KernelPoint& row, double seconds) {
  const bool streams = is_stream(row);
  const double value = streams ? 1e-9 * static_cast<double>(row.bytes) / seconds : 1e6 * seconds;
  std::printf("%s\t%s\t%s\t%zu\t%.6g\t%s\n", who, name_of(row.what), shape_of(row).c_str(),
              row.bytes, value, streams ? "GB/s" : "us");
  std::fflush(stdout);
}
inline void print_start_up(const char* who, int npes, const char* kind, long long since) {
  std::printf("%s\tstart-up\t%d %s\t0\t%.4f\ts\n", who, npes, kind, 1e-9 * ns_since(since));
  std::fflush(stdout);
}

// A PE of the job, with its GPU. All map one file, which does not exist before: it carries the
// library's unique id, and a barrier of host threads that leaves the GPUs alone.
template <class Id>
class Peer {
 public:
  explicit Peer(const char* path) : pe(told("WEFT_PE", 0)), npes(told("WEFT_NPES", 1)) {
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) fail(std::string("cannot open ") + path);
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail(std::string("cannot map ") + path);
    close(file);
    shared_ = static_cast<Shared*>(memory);
    int gpus = 0;
    check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
    check(cudaSetDevice(pe % gpus), "cudaSetDevice");
  }

  // PE 0's id, which `make` fills there.
  template <class Make>
  Id id(Make make) const {
    if (pe == 0) {
      make(&shared_->id);
      shared_->ready.store(1);
    }
    while (shared_->ready.load() == 0) sched_yield();
    return shared_->id;
  }
  void barrier() const {
    const int round = shared_->round.load();
    if (shared_->arrived.fetch_add(1) + 1 == npes) {
      shared_->arrived.store(0);
      shared_->round.store(round + 1);
    }
    while (shared_->round.load() == round) sched_yield();
  }

  const int pe, npes;

 private:
  struct Shared {  // begins as zeros
    std::atomic<int> ready, arrived, round;
    Id id;
  };

  Shared* shared_;
};

}  // namespace weft::perf::gpu
