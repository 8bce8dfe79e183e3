// StreamCall: what every operation on a stream begins with: which memory is symmetric for the
// stream's device, what kernels get, and whether the job goes on.
#pragma once

#include <cstddef>

#include <weft/context.hpp>
#include <weft/on_stream.hpp>

#include "host/context/impl.hpp"
#include "host/kernel/kernel_list.hpp"

namespace weft {

class StreamCall {
 public:
  static Result<StreamCall> begin(Context& ctx, Stream stream, const char* routine);

  const Job& job() const { return *c_.job; }
  const DeviceContext& handle() const { return handle_; }
  const char* routine() const { return routine_; }
  // Null: the stream is one of host threads, and kernels do everything.
  GpuSpace* gpu() const { return c_.job->gpu.get(); }
  // Where the stream's own copies and stores reach pe's copy of a symmetric address. Null: it takes
  // a kernel, which finds another way.
  std::byte* there(const void* symmetric, int pe) const {
    return gpu() == nullptr ? nullptr : gpu()->there(symmetric, pe);
  }
  // Whether that is so for every PE.
  bool reaches_all() const { return gpu() != nullptr && gpu()->maps_all(); }

  Status check_pe(int pe) const;
  // Symmetric for kernels.
  Status check_there(const char* argument, const void* address, std::size_t bytes,
                     std::size_t align = 1) const;
  Status check_notify(const Notify& notify) const;

  // These act on the stream's device.
  Status copy(void* dst, const void* src, std::size_t bytes) const {
    return platform_.copy(dst, src, bytes, stream_);
  }
  Status store(std::uint64_t* word, std::uint64_t value) const;
  Result<bool> wait(const StreamWaits::Wait& wait) const {
    return c_.job->stream_waits->queue(wait, stream_);
  }
  bool has_word_steps() const { return platform_.has_word_steps(); }
  // One block, of so many threads on a GPU; host threads are not that many.
  template <class Body>
  Status launch(unsigned gpu_threads, const Body& body) const {
    return launch_grid(1, gpu() == nullptr ? 1 : gpu_threads, body);
  }
  template <class Body>
  Status launch_grid(unsigned blocks, unsigned threads, const Body& body) const {
    if (gpu() != nullptr) return kernel::launch(platform_, blocks, threads, body, stream_);
    return launch_on_host(kernel::record<Body>(), blocks, threads, &body);
  }

 private:
  Status launch_on_host(const Kernel& kernel, unsigned blocks, unsigned threads,
                        const void* argument) const;

  StreamCall(Context::Impl& c, Stream stream, const char* routine, Platform& platform,
             const DeviceContext& handle)
      : c_(c), stream_(stream), routine_(routine), platform_(platform), handle_(handle) {}

  Context::Impl& c_;
  Stream stream_;
  const char* routine_;
  Platform& platform_;
  DeviceContext handle_;
};

}  // namespace weft
