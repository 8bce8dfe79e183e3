// The hot path: a few tests, then loads and stores on the peer's mapped heap. No lock, no
// allocation, no virtual call. Whatever does not fit goes to the slow path (transfer.cpp).
#include <weft/context.hpp>

#include <utility>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "host/transport/apply.hpp"
#include "src/base/status.hpp"

namespace weft {

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), way_(impl_->way) {}
Context::Context(Context&&) noexcept = default;

Context& Context::operator=(Context&& other) noexcept {
  std::swap(impl_, other.impl_);
  std::swap(way_, other.way_);
  return *this;
}

int Context::pe() const { return impl_->pe; }
int Context::npes() const { return impl_->npes; }
Runtime& Context::runtime() const { return *impl_->job->runtime; }
void Context::share() { impl_->shared = true; }

// A put into the heap and no more: it needs so few registers that it saves none.
Context::Raw Context::raw_put(void* dst, const void* src, std::size_t bytes, int pe,
                              const Notify& notify, Done done, Caller caller) {
  if (notify.op == NotifyOp::kNone && src != nullptr) {
    if (std::byte* const heap = way_.heap_of(pe)) {
      const std::size_t at = reinterpret_cast<std::uintptr_t>(dst) - way_.heap;
      const std::size_t there = __atomic_load_n(&way_.reachable->bytes, __ATOMIC_RELAXED);
      if (at <= there && bytes <= there - at) {
        put_to(heap + at, src, bytes);
        return nullptr;
      }
    }
  }
  return impl_->put_further(dst, src, bytes, pe, notify, done, caller);
}

Context::Raw Context::Impl::put_further(void* dst, const void* src, std::size_t bytes, int target,
                                        const Notify& notify, Done done, Caller caller) {
  std::byte* const heap = way.heap_of(target);
  const std::size_t at = way.offset(dst, bytes);
  const bool good = at != detail::kNowhere && src != nullptr;
  const bool tells = notify.op != NotifyOp::kNone;
  const std::size_t signal = tells ? way.offset(notify.signal, sizeof(std::uint64_t)) : 0;
  const bool signal_good = signal != detail::kNowhere && signal % sizeof(std::uint64_t) == 0;
  if (heap == nullptr || !signal_good || (!good && (bytes != 0 || !tells))) [[unlikely]]
    return report_put(dst, src, bytes, target, notify, done, caller);
  if (bytes != 0) put_to(heap + at, src, bytes);
  if (!tells) return nullptr;
  // Release, after the data: pairs with the acquire of a wait on the signal.
  notify_at(reinterpret_cast<std::uint64_t*>(heap + signal), notify.op, notify.value);
  return nullptr;
}

// A program may read a word in a loop until another PE has written it, and such a loop must end
// when the job does: one read in so many of a thread looks at the job. It counts behind the read,
// since an atomic would wait for the store of the count.
static constexpr unsigned kReadsPerLook = 1024;
static constinit thread_local unsigned reads_until_look [[gnu::tls_model("initial-exec")]] =
    kReadsPerLook;

Context::Raw Context::raw_get(void* dst, const void* src, std::size_t bytes, int pe, Done done,
                              Caller caller) {
  const std::byte* const heap = way_.heap_of(pe);
  const std::size_t at = way_.offset(src, bytes);
  if (heap == nullptr || at == detail::kNowhere || dst == nullptr) [[unlikely]]
    return impl_->report_get(dst, src, bytes, pe, done, caller);
  get_from(dst, heap + at, bytes);
  return --reads_until_look == 0 ? impl_->report_end(caller) : nullptr;
}

Context::Raw Context::raw_amo(Amo amo, void* dst, std::size_t width, std::uint64_t value,
                              std::uint64_t compare, void* result, int pe, Done done,
                              Caller caller) {
  std::byte* const heap = way_.heap_of(pe);
  const std::size_t at = way_.offset(dst, width);
  const bool word = (width == 8 || width == 4) && (at & (width - 1)) == 0;
  const bool no_place = is_fetching(amo) && result == nullptr;
  if (heap == nullptr || at == detail::kNowhere || !word || no_place) [[unlikely]]
    return impl_->report_amo(amo, dst, width, value, compare, result, pe, done, caller);
  // A fetch, which programs wait by, is spared the search among all kinds.
  if (amo == Amo::kFetch) {
    store_result(result, amo_at(OpKind::kAmoFetch, heap + at, width, value, compare), width);
  } else {
    const std::uint64_t old = amo_at(op_kind(amo), heap + at, width, value, compare);
    if (!is_fetching(amo)) return nullptr;
    store_result(result, old, width);
  }
  return --reads_until_look == 0 ? impl_->report_end(caller) : nullptr;
}

// --- out of line ---------------------------------------------------------------------------------

Context::Raw Context::Impl::to_raw(Status status) {
  Status reported = report(std::move(status));
  return std::exchange(reported.rep_, nullptr);
}

// The call's own name before that of the thread.
static const char* name_of(Caller caller) {
  return caller.routine != nullptr ? caller.routine : detail::caller_name;
}

Context::Raw Context::Impl::report_put(void* dst, const void* src, std::size_t bytes, int target,
                                       const Notify& notify, Done done, Caller caller) {
  const CallerName name(name_of(caller));
  const auto alone = turn();
  return to_raw(put(dst, src, bytes, target, notify, done));
}

Context::Raw Context::Impl::report_get(void* dst, const void* src, std::size_t bytes, int target,
                                       Done done, Caller caller) {
  const CallerName name(name_of(caller));
  const auto alone = turn();
  return to_raw(get(dst, src, bytes, target, done));
}

Context::Raw Context::Impl::report_amo(Amo amo, void* dst, std::size_t width, std::uint64_t value,
                                       std::uint64_t compare, void* result, int target, Done done,
                                       Caller caller) {
  const CallerName name(name_of(caller));
  const auto alone = turn();
  return to_raw(this->amo(op_kind(amo), dst, width, value, compare, result, target, done));
}

Context::Raw Context::Impl::report_end(Caller caller) {
  reads_until_look = kReadsPerLook;
  const CallerName name(name_of(caller));
  const auto alone = turn();
  return to_raw(look_at_health());
}

Status Context::Impl::report_fence(Caller caller) {
  const CallerName name(name_of(caller));
  const auto alone = turn();
  return report(fence(kAllPes));
}

Status Context::Impl::report_quiet(Caller caller) {
  const CallerName name(name_of(caller));
  const auto alone = turn();
  return report(quiet(kAnyPe));
}

// --- ordering ------------------------------------------------------------------------------------

// On mapped memory: later stores after earlier ones. The next notify or word is a release store by
// itself; this orders the rest. ThreadSanitizer does not follow it and need not: only a release
// store can tell another PE that the data is there.
static void order_stores() {
#if !defined(__SANITIZE_THREAD__)
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

Status Context::fence(Caller caller) {
  order_stores();
  if (!impl_->unfenced.load(std::memory_order_relaxed)) [[likely]]
    return Status::ok();
  return impl_->report_fence(caller);
}

Status Context::fence(int pe) {
  order_stores();
  Impl& c = *impl_;
  if (c.direct(pe) != nullptr) [[likely]]
    return Status::ok();
  const auto alone = c.turn();
  Status valid = check_pe("fence", pe, c.npes);
  return report(valid.is_ok() ? c.fence(static_cast<std::uint32_t>(pe)) : std::move(valid));
}

// Stores of mine are visible to all before any later load of mine.
static void complete_stores() { __sync_synchronize(); }

Status Context::quiet(Caller caller) {
  Impl& c = *impl_;
  complete_stores();
  if (!c.posted.load(std::memory_order_relaxed) && !c.job->has_ended()) [[likely]]
    return Status::ok();
  return c.report_quiet(caller);
}

Status Context::quiet(int pe) {
  Impl& c = *impl_;
  complete_stores();
  if (c.direct(pe) != nullptr && !c.job->has_ended()) [[likely]]
    return Status::ok();
  const auto alone = c.turn();
  Status valid = check_pe("quiet", pe, c.npes);
  return report(valid.is_ok() ? c.quiet(pe) : std::move(valid));
}

void* Context::ptr(const void* symmetric, int pe) const {
  Impl& c = *impl_;
  const auto alone = c.turn();
  if (!c.failed.is_ok() || static_cast<unsigned>(pe) >= static_cast<unsigned>(c.npes))
    return nullptr;
  if (c.job->is_on_gpu(symmetric)) return c.job->gpu->there(symmetric, pe);
  const std::uint64_t offset = c.heap->try_offset(symmetric, 1);
  if (pe == c.pe && offset != Heap::kNoOffset) return const_cast<void*>(symmetric);
  std::byte* const heap = c.mapped(pe);
  return heap == nullptr || offset == Heap::kNoOffset ? nullptr : heap + offset;
}

}  // namespace weft
