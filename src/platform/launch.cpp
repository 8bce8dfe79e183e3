// What libweft does for launches of the programs' own kernels.
#include <weft/device/launch.hpp>

#include <atomic>
#include <string>

#include <fmt/format.h>

#include "src/platform/platform.hpp"

namespace weft {
namespace {

std::atomic<unsigned> gpu_kernels{0};  // a bit for each kind

std::string describe(const dev::Grid& grid) {
  return fmt::format("launching {} blocks of {} threads with {} bytes of shared memory",
                     grid.blocks, grid.threads, grid.shared_bytes);
}

}  // namespace

bool detail::note_gpu_kernels(GpuKind kind) {
  gpu_kernels.fetch_or(static_cast<unsigned>(kind), std::memory_order_relaxed);
  return true;
}
bool has_gpu_kernels(detail::GpuKind kind) {
  return (gpu_kernels.load(std::memory_order_relaxed) & static_cast<unsigned>(kind)) != 0;
}

Status detail::check_grid(const dev::Grid& grid, unsigned most_threads) {
  if (grid.blocks == 0 || grid.threads == 0)
    return Status::error(Code::kInvalidArgument, describe(grid) + ": nothing to run");
  if (grid.threads <= most_threads) return Status::ok();
  return Status::error(Code::kOutOfRange,
                       fmt::format("{}: this kernel takes {} threads a block at most",
                                   describe(grid), most_threads));
}

Status detail::launch_failed(const dev::Grid& grid, const char* why) {
  return Status::error(Code::kInternal, fmt::format("{}: {}", describe(grid), why));
}

Status detail::stream_failed(const char* what, const char* why) {
  return Status::error(Code::kInternal, fmt::format("{}: {}", what, why));
}

}  // namespace weft
