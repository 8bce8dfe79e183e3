#include "host/stream/call.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <weft/device/cpu_grid.hpp>

#include "host/context/check.hpp"
#include "src/base/status.hpp"
#include "src/platform/gpu/last_calls.hpp"

namespace weft {
namespace {

// A grid of host threads keeps this until it has run: its argument, and the job whose memory it
// uses.
struct HostGrid {
  HostGrid(std::shared_ptr<Job> owner, const Kernel& kernel, const void* from)
      : job(std::move(owner)),
        remains(job->remains.lock()),
        queued(job->queued),
        argument(new std::byte[kernel.argument_bytes]) {
    std::memcpy(argument.get(), from, kernel.argument_bytes);
    queued->add();
  }
  // Counted down last: the runtime that waits for it, not this thread, destroys the job.
  ~HostGrid() {
    remains.reset();
    job.reset();
    queued->finish();
  }
  HostGrid(const HostGrid&) = delete;
  HostGrid& operator=(const HostGrid&) = delete;

  std::shared_ptr<Job> job;
  std::shared_ptr<void> remains;  // of peers that are threads of this process
  const std::shared_ptr<QueuedGrids> queued;
  const std::unique_ptr<std::byte[]> argument;  // of operator new: aligned for every argument
};

}  // namespace

Result<StreamCall> StreamCall::begin(Context& ctx, Stream stream, const char* routine) {
  Context::Impl& c = ctx.impl();
  const auto alone = c.turn();
  RETURN_IF_ERROR(c.usable());
  ASSIGN_OR_RETURN(const DeviceContext handle, c.job->device(c.lane));
  GpuSpace* const gpu = c.job->gpu.get();
  Platform& platform = gpu == nullptr ? *c.job->platform : gpu->platform();
  if (gpu != nullptr) gpu::note_call(caller_or(routine));
  return StreamCall(c, stream, routine, platform, handle);
}

Status StreamCall::launch_on_host(const Kernel& kernel, unsigned blocks, unsigned threads,
                                  const void* argument) const {
  const auto grid = std::make_shared<const HostGrid>(c_.job, kernel, argument);
  return cpu::launch(blocks, threads, 0, kernel.on_host,
                     std::shared_ptr<const void>(grid, grid->argument.get()), stream_);
}

Status StreamCall::check_pe(int pe) const { return weft::check_pe(routine_, pe, c_.npes); }

Status StreamCall::check_there(const char* argument, const void* address, std::size_t bytes,
                               std::size_t align) const {
  if (bytes == 0) return Status::ok();
  if (gpu() != nullptr && !job().is_on_gpu(address) &&
      c_.heap->try_offset(address, 1) != Heap::kNoOffset)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format(
            "{} on a stream: {}, {}, lies in symmetric memory of the host; what is queued on "
            "a GPU's stream takes that of GPUs (Runtime::allocate_device)",
            caller_or(routine_), caller_argument(argument), address));
  const Heap& heap = gpu() == nullptr ? *c_.heap : gpu()->heap();
  RETURN_IF_ERROR(check_symmetric(heap, routine_, argument, address, bytes, c_.checks).status());
  return check_aligned(routine_, argument, address, align);
}

Status StreamCall::check_notify(const Notify& notify) const {
  if (notify.op == NotifyOp::kNone) return Status::ok();
  return check_there("signal", notify.signal, sizeof(std::uint64_t), sizeof(std::uint64_t));
}

Status StreamCall::store(std::uint64_t* word, std::uint64_t value) const {
  const WordStep step{WordStep::Kind::kStore, word, value};
  return platform_.word_steps({&step, 1}, stream_);
}

}  // namespace weft
