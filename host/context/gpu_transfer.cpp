// Host puts and gets where GPU memory is symmetric: copies, complete on return. The rest that host
// threads do with words (atomics, waits) takes host memory.
#include <fmt/format.h>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "src/base/status.hpp"

namespace weft {

Status Context::Impl::put_on_gpu(void* dst, const void* src, std::size_t bytes, int target,
                                 Notify notify) {
  constexpr const char* kRoutine = "put";
  const GpuSpace& gpu = *job->gpu;
  RETURN_IF_ERROR(check_pe(kRoutine, target, npes));
  const bool notifies = notify.op != NotifyOp::kNone;
  const bool word_on_gpu = notifies && job->is_on_gpu(notify.signal);
  if (word_on_gpu) {
    if (notify.op != NotifyOp::kSet)
      return Status::error(
          Code::kUnsupported,
          fmt::format("{}: argument signal, {}, lies in GPU memory, where a host thread can set a "
                      "word and not add to it; add in a kernel, or keep the signal in host memory",
                      caller_or(kRoutine), fmt::ptr(notify.signal)));
    RETURN_IF_ERROR(check_aligned(kRoutine, "signal", notify.signal, sizeof(std::uint64_t)));
    RETURN_IF_ERROR(check_symmetric(gpu.heap(), kRoutine, "signal", notify.signal,
                                    sizeof(std::uint64_t), checks)
                        .status());
  }
  if (job->is_on_gpu(dst)) {
    RETURN_IF_ERROR(check_symmetric(gpu.heap(), kRoutine, "dst", dst, bytes, checks).status());
    RETURN_IF_ERROR(check_not_null(kRoutine, "src", src, bytes));
    if (bytes != 0) RETURN_IF_ERROR(gpu.copy(gpu.there(dst, target), src, bytes));
  } else if (bytes != 0) {
    RETURN_IF_ERROR(put(dst, src, bytes, target, none(), Done::kLocal));
    RETURN_IF_ERROR(quiet(target));
  }
  if (word_on_gpu)
    return gpu.copy(gpu.there(notify.signal, target), &notify.value, sizeof(notify.value));
  return notifies ? put(nullptr, nullptr, 0, target, notify, Done::kLocal) : Status::ok();
}

Status Context::Impl::get_on_gpu(void* dst, const void* src, std::size_t bytes, int target) {
  constexpr const char* kRoutine = "get";
  const GpuSpace& gpu = *job->gpu;
  RETURN_IF_ERROR(check_pe(kRoutine, target, npes));
  RETURN_IF_ERROR(check_symmetric(gpu.heap(), kRoutine, "src", src, bytes, checks).status());
  RETURN_IF_ERROR(check_not_null(kRoutine, "dst", dst, bytes));
  return bytes == 0 ? Status::ok() : gpu.copy(dst, gpu.there(src, target), bytes);
}

}  // namespace weft
