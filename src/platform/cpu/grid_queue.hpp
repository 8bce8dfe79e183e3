// GridQueue: what is behind a Stream, an in-order queue of grids. It has no thread of its own: the
// last thread of a grid starts the next one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include <weft/result.hpp>

#include "src/base/process.hpp"
#include "src/platform/cpu/grid.hpp"

namespace weft::cpu {

class GridQueue {
 public:
  GridQueue();
  ~GridQueue();  // waits for what is queued
  GridQueue(const GridQueue&) = delete;
  GridQueue& operator=(const GridQueue&) = delete;

  // The object behind a handle; null is the calling thread's default stream. Fails for a handle
  // that is not a live stream of this process.
  static Result<GridQueue*> from(Stream handle);

  Status launch(std::unique_ptr<Grid> grid);
  // Everything launched before the call has run.
  void synchronize();
  // Called by the last thread of the running grid.
  void finished();
  // A stream that came through fork(): its threads are the parent's.
  bool is_inherited() const { return process_.is_inherited(); }

 private:
  void start(std::unique_ptr<Grid> grid);

  std::uint64_t magic_;
  OwnerProcess process_;
  ThreadPool pool_;
  std::unique_ptr<Grid> running_;  // belongs to its last thread while busy
  std::mutex mutex_;               // of what follows
  std::condition_variable progressed_;
  std::deque<std::unique_ptr<Grid>> queue_;
  bool busy_ = false;
  std::uint64_t launched_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace weft::cpu
