// Crew: the host threads that run one stream's grids.
//
// Each stream has its own, so that a grid never becomes ordered after another stream's grid by
// having run on the same thread: ThreadSanitizer then sees between kernels what the kernels
// themselves ordered. When a stream goes away, its threads wait on a process-wide bench for the
// next stream; they are never created twice for the same need.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <weft/status.hpp>

#include "src/platform/cpu/futex.hpp"

namespace weft::cpu {

class Crew : public std::enable_shared_from_this<Crew> {
 public:
  // A job that `threads` of the crew run at once: once per rank in 0..threads-1.
  class Job {
   public:
    virtual ~Job() = default;
    virtual void run(unsigned rank) = 0;
  };

  // At least `threads` threads, or an error and the crew as it was. One caller at a time.
  Status grow(unsigned threads);
  // Starts `job` on `threads` threads, which are there; one job at a time, which the caller keeps
  // until every rank has returned.
  void start(Job& job, unsigned threads);
  // The threads go to the bench; no job may be running.
  void dismiss();

  unsigned size() const { return size_; }

 private:
  friend struct Worker;
  void serve();
  bool take_rank(unsigned& rank);
  void ring(std::uint32_t threads);

  unsigned size_ = 0;
  Job* job_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> ranks_{0};  // of the job, still to be taken
  alignas(64) FutexWord bell_{0};                    // changes with every start
  std::atomic<bool> dismissed_{false};
};

}  // namespace weft::cpu
