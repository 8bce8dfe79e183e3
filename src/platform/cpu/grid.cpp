#include "src/platform/cpu/grid.hpp"

#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <weft/options.hpp>

#include "src/base/status.hpp"
#include "src/platform/cpu/grid_queue.hpp"
#include "src/platform/cpu/available_memory.hpp"

namespace weft::cpu {
namespace {

constexpr std::size_t kArenaAlign = 64;

// WEFT_DEVICE_THREADS, read once per process.
Result<std::uint64_t> most_threads() {
  static const Result<std::uint64_t> most = []() -> Result<std::uint64_t> {
    ASSIGN_OR_RETURN(const Options options, Options::from_environment());
    return static_cast<std::uint64_t>(options.device_threads);
  }();
  return most;
}

Status check(const GridShape& shape) {
  if (shape.blocks == 0 || shape.threads == 0) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("an empty grid: {} blocks of {} threads; both must be at least 1", shape.blocks,
                    shape.threads));
  }
  ASSIGN_OR_RETURN(const std::uint64_t most, most_threads());
  const auto threads = std::uint64_t{shape.blocks} * shape.threads;
  if (threads > most) {
    return Status::error(
        Code::kOutOfRange,
        fmt::format("a grid of {} blocks of {} threads is {} host threads, more than "
                    "WEFT_DEVICE_THREADS={}; launch fewer, or raise it",
                    shape.blocks, shape.threads, threads, most));
  }
  return Status::ok();
}

// Large shared memory is refused before it is taken; for small one nobody needs to ask.
Status check_shared(const GridShape& shape) {
  constexpr std::size_t kSmall = std::size_t{64} << 20;
  if (shape.shared_bytes <= kSmall / shape.blocks) return Status::ok();
  const AvailableMemory room = available_memory();
  if (shape.shared_bytes <= room.bytes / shape.blocks) return Status::ok();
  return Status::error(Code::kOutOfMemory,
                       fmt::format("{} of shared memory in each of {} blocks, {} available in all "
                                   "({}); ask for less, or launch fewer blocks",
                                   show_bytes(shape.shared_bytes), shape.blocks,
                                   show_bytes(room.bytes), room.limit));
}

}  // namespace

Result<std::unique_ptr<Grid>> Grid::create(GridShape shape, Entry entry,
                                           std::shared_ptr<const void> kernel) {
  RETURN_IF_ERROR(check(shape));
  RETURN_IF_ERROR(check_shared(shape));
  std::unique_ptr<Grid> grid(new Grid(shape, entry, std::move(kernel)));
  RETURN_IF_ERROR(grid->make_shared_memory());
  return grid;
}

Grid::Grid(GridShape shape, Entry entry, std::shared_ptr<const void> kernel)
    : shape_(shape),
      entry_(entry),
      kernel_(std::move(kernel)),
      blocks_(shape.blocks),
      running_(shape.blocks * shape.threads) {
  const std::size_t warps = (shape.threads + kWarpSize - 1) / kWarpSize;
  const std::size_t warpgroups = (shape.threads + kWarpgroupSize - 1) / kWarpgroupSize;
  warp_barriers_.resize(warps * shape.blocks);
  warpgroup_barriers_.resize(warpgroups * shape.blocks);
  exchange_.resize(std::size_t{2} * threads());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b].warp_barriers = &warp_barriers_[b * warps];
    blocks_[b].warpgroup_barriers = &warpgroup_barriers_[b * warpgroups];
    blocks_[b].exchange = &exchange_[b * 2 * shape.threads];
  }
}

// One allocation per block, so that AddressSanitizer sees a block that runs over its own.
Status Grid::make_shared_memory() {
  if (shape_.shared_bytes == 0) return Status::ok();
  arenas_.reserve(blocks_.size());
  for (BlockState& block : blocks_) {
    void* arena = ::operator new (shape_.shared_bytes, std::align_val_t{kArenaAlign}, std::nothrow);
    if (arena == nullptr) {
      return Status::error(Code::kOutOfMemory,
                           fmt::format("no memory left for {} of shared memory in each of {} "
                                       "blocks; ask for less, or launch fewer blocks",
                                       show_bytes(shape_.shared_bytes), shape_.blocks));
    }
    arenas_.emplace_back(static_cast<std::byte*>(arena));
    block.shared = arenas_.back().get();
    block.shared_bytes = shape_.shared_bytes;
  }
  return Status::ok();
}

void Grid::FreeAligned::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kArenaAlign});
}

void Grid::run(unsigned rank) {
  ThreadState self;
  self.thread = rank % shape_.threads;
  self.threads = shape_.threads;
  self.block = rank / shape_.threads;
  self.blocks = shape_.blocks;
  self.shared = &blocks_[self.block];
  entry_(kernel_.get(), self);
  // acq_rel: the last one, who ends the grid, must come after all that its other threads did. A
  // thread that is not the last does nothing more for this grid, so this orders no kernel code.
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) queue_->finished();
}

}  // namespace weft::cpu
