// What host threads do with symmetric GPU memory: puts and gets are copies, atomics are kernels;
// all complete on return.
#include <fmt/format.h>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "host/kernel/kernels.hpp"
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
  if (word_on_gpu && notify.op == NotifyOp::kAdd)
    return amo_on_gpu(Amo::kAdd, notify.signal, sizeof(notify.value), notify.value, 0, target)
        .status();
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

Result<std::uint64_t> Context::Impl::amo_on_gpu(Amo amo, void* word, std::size_t width,
                                                std::uint64_t value, std::uint64_t compare,
                                                int target) {
  ASSIGN_OR_RETURN(const DeviceContext handle, job->device(lane));
  return job->gpu->amo(kernel::AmoKernel{handle, amo, static_cast<std::uint8_t>(width), target,
                                         word, value, compare, nullptr});
}

}  // namespace weft
