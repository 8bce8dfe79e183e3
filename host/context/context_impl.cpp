// A context's life, its fence and quiet beyond mapped memory, and its strided transfers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "host/context/waiter.hpp"
#include "src/base/clock.hpp"
#include "src/base/process.hpp"
#include "src/base/status.hpp"

namespace weft {

Context::Impl::Impl(std::shared_ptr<Job> owner, int own_lane, bool wants_checks)
    : job(std::move(owner)),
      heap(job->heap.get()),
      pe(job->pe),
      npes(job->npes),
      lane(own_lane),
      checks(wants_checks),
      queue(job->routes, host_lane(own_lane)) {
  way.heap = reinterpret_cast<std::uintptr_t>(heap->range().base);
  way.peer = job->routes.peer.data();
  way.reachable = &reachable;
  reachable.adopted = heap->adopted().data();
  // The shortest calls would add to words that a transport owns.
  if (!checks && !job->routes.atomics) reachable.npes = static_cast<unsigned>(npes);
  refresh();
  job->enter(this, lane, &queue);
}

void Context::Impl::refresh() {
  __atomic_store_n(&reachable.bytes, heap->committed(), __ATOMIC_RELAXED);
  // Release: pairs with the acquire in DirectWay::offset, which then finds the ranges.
  __atomic_store_n(&reachable.adopted_count, heap->adopted().size(), __ATOMIC_RELEASE);
}

Context::Impl::~Impl() = default;

Context::~Context() { Impl::destroy(std::move(impl_)); }

void Context::Impl::destroy(std::unique_ptr<Impl> impl) {
  if (impl == nullptr) return;
  Impl& c = *impl;
  if (c.job->is_inherited()) return keep_for_parent(std::move(impl));
  Status status = c.failed.is_ok() ? c.quiet(kAnyPe) : Status::ok();
  if (!status.is_ok() && !c.job->has_ended()) report(status).ignore();  // nobody else will see it
  c.job->leave(c.lane, &c.queue);
  if (c.queue.all_done()) {
    c.job->give_lane(c.lane);
  } else {
    c.job->defer_reclamation(c.fetched);  // a transport may still write there
  }
}

Status Context::Impl::usable() {
  refresh();
  if (failed.is_ok() && job->has_ended()) fail(job->health());
  return failed;
}

void Context::Impl::fail(const Status& why) {
  if (!failed.is_ok()) return;
  failed = why;
  close_direct_way();
}

void Context::Impl::close_direct_way() {
  __atomic_store_n(&reachable.npes, 0u, __ATOMIC_RELAXED);
  posted = unfenced = true;
}

Status Context::Impl::look_at_health() {
  constexpr std::uint64_t kBetweenLooks = 100'000'000;  // ns
  const std::uint64_t now = now_ns();
  if (now - looked_at < kBetweenLooks && !job->has_ended()) return Status::ok();
  looked_at = now;
  return job->health();
}

// --- fence and quiet -----------------------------------------------------------------------------

Status Context::Impl::fence(std::uint32_t target) {
  RETURN_IF_ERROR(usable());
  const bool is_direct = target != kAllPes && mapped(static_cast<int>(target)) != nullptr;
  if (!unfenced || (is_direct && !job->routes.atomics)) return Status::ok();
  Op op;
  op.kind = OpKind::kFence;
  op.pe = target;
  RETURN_IF_ERROR(post(op, nullptr));
  if (target == kAllPes) unfenced = false;
  return Status::ok();
}

Status Context::Impl::quiet(int target) {
  RETURN_IF_ERROR(usable());
  const auto complete = [&] {
    return target == kAnyPe ? queue.all_done() : queue.all_done(target);
  };
  if (posted && !complete()) {
    queue.flush();
    Status waited = wait_for(*job, &queue, complete, [&] {
      return WaitFacts{.operation = "quiet", .peer = target, .seen = queue.describe_outstanding()};
    });
    if (!waited.is_ok()) {
      fail(waited);
      return waited;
    }
  }
  if (queue.all_done()) posted = unfenced = false;
  remember(queue.take_error()).ignore();
  return std::exchange(first_error, Status::ok());
}

// --- strided -------------------------------------------------------------------------------------

Status Context::put_strided(void* dst, const void* src, std::ptrdiff_t dst_stride,
                            std::ptrdiff_t src_stride, std::size_t element, std::size_t count,
                            int pe) {
  return put_blocks(dst, src, dst_stride, src_stride, element, 1, count, pe);
}

Status Context::get_strided(void* dst, const void* src, std::ptrdiff_t dst_stride,
                            std::ptrdiff_t src_stride, std::size_t element, std::size_t count,
                            int pe) {
  return get_blocks(dst, src, dst_stride, src_stride, element, 1, count, pe);
}

// Checks the whole range once; then blocks go one by one.
Status Context::put_blocks(void* dst, const void* src, std::ptrdiff_t dst_stride,
                           std::ptrdiff_t src_stride, std::size_t element, std::size_t block,
                           std::size_t count, int pe) {
  const Impl& c = *impl_;
  std::size_t dst_bytes = 0;
  const auto checked = [&]() -> Status {
    RETURN_IF_ERROR(check_pe("iput", pe, c.npes));
    ASSIGN_OR_RETURN(dst_bytes,
                     check_extent("iput", "dst_stride", dst_stride, element, count, block));
    ASSIGN_OR_RETURN(const std::size_t src_bytes,
                     check_extent("iput", "src_stride", src_stride, element, count, block));
    RETURN_IF_ERROR(check_not_null("iput", "src", src, src_bytes));
    if (dst_bytes == 0) return Status::ok();
    return check_symmetric(*c.heap, "iput", "dst", dst, dst_bytes, c.checks).status();
  };
  RETURN_IF_ERROR(report(checked()));
  if (dst_bytes == 0) return Status::ok();
  auto* to = static_cast<std::byte*>(dst);
  const auto* from = static_cast<const std::byte*>(src);
  for (std::size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(put_bytes(to + i * static_cast<std::size_t>(dst_stride) * element,
                              from + i * static_cast<std::size_t>(src_stride) * element,
                              block * element, pe));
  }
  return Status::ok();
}

Status Context::get_blocks(void* dst, const void* src, std::ptrdiff_t dst_stride,
                           std::ptrdiff_t src_stride, std::size_t element, std::size_t block,
                           std::size_t count, int pe) {
  Impl& c = *impl_;
  std::size_t src_bytes = 0;
  const auto checked = [&]() -> Status {
    RETURN_IF_ERROR(check_pe("iget", pe, c.npes));
    ASSIGN_OR_RETURN(const std::size_t dst_bytes,
                     check_extent("iget", "dst_stride", dst_stride, element, count, block));
    ASSIGN_OR_RETURN(src_bytes,
                     check_extent("iget", "src_stride", src_stride, element, count, block));
    RETURN_IF_ERROR(check_not_null("iget", "dst", dst, dst_bytes));
    if (src_bytes == 0) return Status::ok();
    return check_symmetric(*c.heap, "iget", "src", src, src_bytes, c.checks).status();
  };
  RETURN_IF_ERROR(report(checked()));
  if (src_bytes == 0) return Status::ok();
  auto* to = static_cast<std::byte*>(dst);
  const auto* from = static_cast<const std::byte*>(src);
  // Without waiting for each; then for all.
  for (std::size_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(get_bytes(to + i * static_cast<std::size_t>(dst_stride) * element,
                              from + i * static_cast<std::size_t>(src_stride) * element,
                              block * element, pe, Done::kLater));
  }
  if (!c.posted) return Status::ok();
  const auto alone = c.turn();
  Status status = c.quiet(pe);
  return status.is_ok() ? status : report(c.remember(std::move(status)));
}

// --- device --------------------------------------------------------------------------------------

Result<DeviceContext> Context::device() {
  Impl& c = *impl_;
  const auto alone = c.turn();
  Status status = c.usable();
  if (!status.is_ok()) return report(status);
  auto handle = c.job->device(c.lane);
  if (!handle) return report(handle.status());
  return handle;
}

Result<const DeviceContext*> Context::device_pointer() {
  Impl& c = *impl_;
  const auto alone = c.turn();
  Status status = c.usable();
  if (!status.is_ok()) return report(status);
  auto handle = c.job->device_pointer(c.lane);
  if (!handle) return report(handle.status());
  return handle;
}

}  // namespace weft
