// Symmetric GPU memory as host threads use it: puts and gets are copies, atomics are kernels,
// and what a peer's memory needs that is not mapped is an op of its transport; all complete on
// return.
#include <fmt/format.h>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "host/context/waiter.hpp"
#include "host/kernel/kernels.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

// An op at a symmetric address of GPU memory, which has been checked.
Op op_there(const GpuSpace& gpu, OpKind kind, const void* symmetric, int pe) {
  Op op;
  op.kind = kind;
  op.pe = static_cast<std::uint32_t>(pe);
  op.remote = gpu.heap().try_offset(symmetric, 1);
  return op;
}

}  // namespace

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
    if (bytes != 0) RETURN_IF_ERROR(put_there(dst, src, bytes, target));
  } else if (bytes != 0) {
    RETURN_IF_ERROR(put(dst, src, bytes, target, none(), Done::kLocal));
    RETURN_IF_ERROR(quiet(target));
  }
  if (word_on_gpu && notify.op == NotifyOp::kAdd)
    return amo_on_gpu(Amo::kAdd, notify.signal, sizeof(notify.value), notify.value, 0, target)
        .status();
  if (word_on_gpu) return put_there(notify.signal, &notify.value, sizeof(notify.value), target);
  return notifies ? put(nullptr, nullptr, 0, target, notify, Done::kLocal) : Status::ok();
}

Status Context::Impl::get_on_gpu(void* dst, const void* src, std::size_t bytes, int target) {
  constexpr const char* kRoutine = "get";
  const GpuSpace& gpu = *job->gpu;
  RETURN_IF_ERROR(check_pe(kRoutine, target, npes));
  RETURN_IF_ERROR(check_symmetric(gpu.heap(), kRoutine, "src", src, bytes, checks).status());
  RETURN_IF_ERROR(check_not_null(kRoutine, "dst", dst, bytes));
  return bytes == 0 ? Status::ok() : get_there(dst, src, bytes, target);
}

Status Context::Impl::put_there(void* symmetric, const void* src, std::size_t bytes, int target) {
  const GpuSpace& gpu = *job->gpu;
  if (std::byte* const there = gpu.there(symmetric, target)) return gpu.copy(there, src, bytes);
  Op op = op_there(gpu, OpKind::kPut, symmetric, target);
  op.local = number(src);
  op.bytes = bytes;
  return carry_out(op);
}

Status Context::Impl::get_there(void* dst, const void* symmetric, std::size_t bytes, int target) {
  const GpuSpace& gpu = *job->gpu;
  if (const std::byte* const there = gpu.there(symmetric, target))
    return gpu.copy(dst, there, bytes);
  Op op = op_there(gpu, OpKind::kGet, symmetric, target);
  op.local = number(dst);
  op.bytes = bytes;
  return carry_out(op);
}

Status Context::Impl::carry_out(const Op& op) {
  LaneQueue gpu_queue(job->gpu->routes(), host_lane(lane));
  const auto facts = [&] {
    return WaitFacts{.operation = to_string(op.kind),
                     .peer = static_cast<int>(op.pe),
                     .seen = fmt::format("the {} is not complete", describe(op))};
  };
  LaneQueue::Ticket ticket;
  Status status;
  const auto taken = [&] {
    status = gpu_queue.post(op, &ticket);
    return !status.is(Code::kBusy);
  };
  RETURN_IF_ERROR(wait_for(*job, &gpu_queue, taken, facts));
  RETURN_IF_ERROR(status);
  gpu_queue.flush();
  RETURN_IF_ERROR(wait_for(
      *job, &gpu_queue, [&] { return gpu_queue.done(ticket); }, facts));
  return gpu_queue.take_error();
}

Result<std::uint64_t> Context::Impl::amo_on_gpu(Amo amo, void* word, std::size_t width,
                                                std::uint64_t value, std::uint64_t compare,
                                                int target) {
  if (job->gpu->there(word, target) == nullptr) {
    Op op = op_there(*job->gpu, op_kind(amo), word, target);
    op.width = static_cast<std::uint8_t>(width);
    op.value = value;
    op.compare = compare;
    *fetched = 0;
    op.result = number(fetched.get());
    RETURN_IF_ERROR(carry_out(op));
    return *fetched;
  }
  ASSIGN_OR_RETURN(const DeviceContext handle, job->device(lane));
  return job->gpu->amo(kernel::AmoKernel{handle, amo, static_cast<std::uint8_t>(width), target,
                                         word, value, compare, nullptr});
}

}  // namespace weft
