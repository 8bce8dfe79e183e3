// The part of libweft in launches of the programs' own kernels.
#include <weft/device/launch.hpp>

#include <atomic>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/platform/gpu/last_calls.hpp"
#include "src/platform/platform.hpp"

namespace weft {
namespace {

std::atomic<unsigned> gpu_kernels{0};  // a bit for each kind
std::atomic<bool> host_kernels{false};

std::string describe(const dev::Grid& grid) {
  return fmt::format("launching {} blocks of {} threads with {} bytes of shared memory",
                     grid.blocks, grid.threads, grid.shared_bytes);
}

// "Ring" of "weft::Status weft::dev::cuda::launch(...) [with Kernel = Ring; ...]", as GCC has it,
// or
// "... [Kernel = Ring]".
std::string_view kernel_of(std::string_view signature) {
  constexpr std::string_view kBefore = "Kernel = ";
  const std::size_t at = signature.find(kBefore);
  if (at == std::string_view::npos) return signature;
  signature.remove_prefix(at + kBefore.size());
  const std::size_t end = signature.find("; ");
  return signature.substr(0, end == std::string_view::npos ? signature.size() - 1 : end);
}

std::string calls_before(int error) {
  return gpu::calls_before(static_cast<gpu::abi::Error>(error));
}

}  // namespace

bool detail::note_gpu_kernels(GpuKind kind) {
  gpu_kernels.fetch_or(static_cast<unsigned>(kind), std::memory_order_relaxed);
  return true;
}
bool has_gpu_kernels(detail::GpuKind kind) {
  return (gpu_kernels.load(std::memory_order_relaxed) & static_cast<unsigned>(kind)) != 0;
}

bool detail::note_host_kernels() {
  host_kernels.store(true, std::memory_order_relaxed);
  return true;
}
bool has_host_kernels() { return host_kernels.load(std::memory_order_relaxed); }

Status detail::check_grid(const dev::Grid& grid, unsigned most_threads) {
  if (grid.blocks == 0 || grid.threads == 0)
    return Status::error(Code::kInvalidArgument, describe(grid) + ": nothing to run");
  if (grid.cluster == 0 || grid.blocks % grid.cluster != 0)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: the grid is not a multiple of its clusters of {} blocks",
                                     describe(grid), grid.cluster));
  if (grid.threads <= most_threads) return Status::ok();
  return Status::error(Code::kOutOfRange,
                       fmt::format("{}: this kernel takes {} threads a block at most",
                                   describe(grid), most_threads));
}

void detail::note_launch(const char* signature) {
  const std::string_view kernel = kernel_of(signature);
  if (!kernel.starts_with("weft::kernels::")) gpu::note_call(kernel);
}

void detail::note_operator(const char* name) { gpu::note_call(name); }

Status detail::launch_failed(const dev::Grid& grid, const char* why, int error) {
  return Status::error(Code::kInternal,
                       fmt::format("{}: {}{}", describe(grid), why, calls_before(error)));
}

Status detail::stream_failed(const char* what, const char* why, int error) {
  return Status::error(Code::kInternal, fmt::format("{}: {}{}", what, why, calls_before(error)));
}

}  // namespace weft
