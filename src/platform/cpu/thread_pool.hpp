// ThreadPool: the host threads that run one stream's grids.
//
// Each stream has its own, and each thread of a pool runs the rank that is its own, so that nothing
// becomes ordered by having run on the same thread: ThreadSanitizer then sees between kernels, and
// between threads of one, what they themselves ordered. When a stream goes away, its threads wait
// on a process-wide free list for the next stream; they are not created twice for the same need.
#pragma once

#include <vector>

#include <weft/status.hpp>

namespace weft::cpu {

struct Worker;

class ThreadPool {
 public:
  // The work that the threads of a pool do at once: once per rank in 0..threads-1.
  class Job {
   public:
    virtual ~Job() = default;
    virtual void run(unsigned rank) = 0;
  };

  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // The threads go to the free list; no job may be running.
  ~ThreadPool();

  // At least `threads` threads. After a failure there are fewer, and that is no harm. One caller at
  // a time; a job may be running.
  Status grow(unsigned threads);
  // Starts `job` on `threads` threads, which are there; one job at a time, which the caller keeps
  // until every rank has returned.
  void start(Job& job, unsigned threads);

 private:
  Status create(unsigned threads);
  void add(Worker& worker);

  std::vector<Worker*> workers_;  // by rank
};

}  // namespace weft::cpu
