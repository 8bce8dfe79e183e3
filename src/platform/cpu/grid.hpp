// Grid: one launch on the CPU target, and everything its threads share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <weft/device/cpu_grid.hpp>
#include <weft/result.hpp>

#include "src/platform/cpu/thread_pool.hpp"

namespace weft::cpu {

class GridQueue;

struct GridShape {
  unsigned blocks = 1;
  unsigned threads = 1;  // per block
  std::size_t shared_bytes = 0;
};

class Grid final : public ThreadPool::Job {
 public:
  // Fails when the shape is empty, too large, or its shared memory cannot be had.
  static Result<std::unique_ptr<Grid>> create(GridShape shape, Entry entry,
                                              std::shared_ptr<const void> kernel);

  unsigned threads() const { return shape_.blocks * shape_.threads; }
  // The queue that is told when the last thread has returned from the kernel.
  void set_queue(GridQueue& queue) { queue_ = &queue; }
  void run(unsigned rank) override;

 private:
  Grid(GridShape shape, Entry entry, std::shared_ptr<const void> kernel);
  Status make_shared_memory();

  struct FreeAligned {
    void operator()(std::byte* memory) const;
  };

  GridShape shape_;
  Entry entry_;
  std::shared_ptr<const void> kernel_;
  GridQueue* queue_ = nullptr;
  std::vector<BlockState> blocks_;
  std::vector<Barrier> warp_barriers_;
  std::vector<Barrier> warpgroup_barriers_;
  std::vector<std::uint64_t> exchange_;
  std::vector<std::unique_ptr<std::byte[], FreeAligned>> arenas_;
  alignas(64) std::atomic<unsigned> running_;
};

}  // namespace weft::cpu
