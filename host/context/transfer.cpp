// Slow paths of put, get and atomics: all checks, then the direct way if there is one, else an Op.
#include <algorithm>

#include <fmt/format.h>

#include <weft/dev/journal.hpp>

#include "host/context/check.hpp"
#include "host/context/impl.hpp"
#include "host/context/waiter.hpp"
#include "host/transport/apply.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

const char* put_name(std::size_t bytes, const Notify& notify, Done done) {
  if (notify.op == NotifyOp::kNone) return done == Done::kLocal ? "put" : "put_nbi";
  if (bytes == 0) return "signal";
  return done == Done::kLocal ? "put with notify" : "put_nbi with notify";
}

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

}  // namespace

// The bytes that a put or a get moves. `local` is the program's own memory.
struct Context::Impl::Moved {
  const char* symmetric_name;
  const void* symmetric;
  const char* local_name;
  const void* local;
  std::size_t bytes;
  int pe;
};

Status Context::Impl::check_moved(const char* routine, const Moved& moved, Op* op) {
  const auto [symmetric_name, symmetric, local_name, local, bytes, other] = moved;
  RETURN_IF_ERROR(check_pe(routine, other, npes));
  if (bytes != 0) {
    ASSIGN_OR_RETURN(const Offset offset,
                     check_symmetric(*heap, routine, symmetric_name, symmetric, bytes, checks));
    RETURN_IF_ERROR(check_not_null(routine, local_name, local, bytes));
    op->remote = to_u64(offset);
  }
  if (checks) RETURN_IF_ERROR(check_local(*heap, routine, local_name, local, bytes));
  op->pe = static_cast<std::uint32_t>(other);
  op->bytes = bytes;
  op->local = address(local);
  return Status::ok();
}

// --- put -----------------------------------------------------------------------------------------

Status Context::Impl::check_put(void* dst, const void* src, std::size_t bytes, int target,
                                const Notify& notify, Op* op) {
  const char* routine = put_name(bytes, notify, op->flags != 0 ? Done::kLater : Done::kLocal);
  RETURN_IF_ERROR(check_moved(routine, {"dst", dst, "src", src, bytes, target}, op));
  if (checks && target == pe) RETURN_IF_ERROR(check_overlap(routine, dst, src, bytes));
  if (notify.op != NotifyOp::kNone) {
    RETURN_IF_ERROR(check_aligned(routine, "signal", notify.signal, sizeof(std::uint64_t)));
    ASSIGN_OR_RETURN(const Offset signal, check_symmetric(*heap, routine, "signal", notify.signal,
                                                          sizeof(std::uint64_t), checks));
    op->signal = to_u64(signal);
  }
  op->kind = OpKind::kPut;
  op->notify = notify.op;
  op->value = notify.value;
  return Status::ok();
}

Status Context::Impl::put(void* dst, const void* src, std::size_t bytes, int target, Notify notify,
                          Done done) {
  RETURN_IF_ERROR(usable());
  if (job->is_on_gpu(dst) || (notify.op != NotifyOp::kNone && job->is_on_gpu(notify.signal)))
    return put_on_gpu(dst, src, bytes, target, notify);
  Op op;
  op.flags = done == Done::kLater ? kOpSourceStays : 0;
  RETURN_IF_ERROR(check_put(dst, src, bytes, target, notify, &op));
  if (bytes == 0 && notify.op == NotifyOp::kNone) return Status::ok();
  // A reader of the journal that has seen the signal sees this note: it comes before.
  if (checks && notify.op != NotifyOp::kNone) RETURN_IF_ERROR(note(target, op.signal));
  std::byte* const peer = mapped(target);
  if (peer == nullptr) return post(op, nullptr);
  apply_op(op, peer);
  return Status::ok();
}

// In pe's journal: I write that word.
Status Context::Impl::note(int target, std::uint64_t offset) {
  std::byte* const peer = mapped(target);
  if (peer == nullptr) return post_note(static_cast<std::uint32_t>(target), offset);
  note_writer(peer, offset);
  return Status::ok();
}

void Context::Impl::note_writer(std::byte* peer, std::uint64_t offset) {
  dev::journal_note(peer, job->journal_offset, offset, pe);
}

// The same through a transport. A signal, since nobody needs to complete those for them to arrive;
// and since others store there, it must be no atomic where a transport owns those.
Status Context::Impl::post_note(std::uint32_t target, std::uint64_t offset) {
  Op op;
  op.kind = OpKind::kPut;
  op.notify = NotifyOp::kSet;
  op.pe = target;
  op.signal = job->journal_offset + dev::journal_slot(offset) * sizeof(std::uint64_t);
  op.value = dev::journal_entry(offset, pe);
  return post(op, nullptr);
}

// --- get -----------------------------------------------------------------------------------------

Status Context::Impl::check_get(void* dst, const void* src, std::size_t bytes, int target, Op* op) {
  const char* routine = op->flags != 0 ? "get_nbi" : "get";
  RETURN_IF_ERROR(check_moved(routine, {"src", src, "dst", dst, bytes, target}, op));
  if (checks && target == pe) RETURN_IF_ERROR(check_overlap(routine, dst, src, bytes));
  op->kind = OpKind::kGet;
  return Status::ok();
}

Status Context::Impl::get(void* dst, const void* src, std::size_t bytes, int target, Done done) {
  RETURN_IF_ERROR(usable());
  RETURN_IF_ERROR(still_there());
  if (job->is_on_gpu(src)) return get_on_gpu(dst, src, bytes, target);
  Op op;
  op.flags = done == Done::kLater ? kOpSourceStays : 0;
  RETURN_IF_ERROR(check_get(dst, src, bytes, target, &op));
  if (bytes == 0) return Status::ok();
  op.flags = 0;
  if (std::byte* const peer = mapped(target); peer != nullptr) {
    apply_op(op, peer);
    return Status::ok();
  }
  LaneQueue::Ticket ticket;
  RETURN_IF_ERROR(post(op, &ticket));
  return done == Done::kLater ? Status::ok() : complete(ticket, "get", target);
}

// --- atomics -------------------------------------------------------------------------------------

Status Context::Impl::check_amo(OpKind kind, void* dst, std::size_t width, void* result, int target,
                                Op* op) {
  const char* routine = to_string(kind);
  RETURN_IF_ERROR(check_pe(routine, target, npes));
  if (width != 4 && width != 8)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: argument width is {}; atomics take words of 4 or 8 bytes",
                                     caller_or(routine), width));
  const char* const word = kind == OpKind::kAmoFetch ? "src" : "dst";
  RETURN_IF_ERROR(check_not_null(routine, word, dst, width));
  RETURN_IF_ERROR(check_aligned(routine, word, dst, width));
  if (is_fetching(kind)) RETURN_IF_ERROR(check_not_null(routine, "result", result, width));
  ASSIGN_OR_RETURN(const Offset offset,
                   check_symmetric(job->heap_of(dst), routine, word, dst, width, checks));
  op->kind = kind;
  op->pe = static_cast<std::uint32_t>(target);
  op->remote = to_u64(offset);
  op->width = static_cast<std::uint8_t>(width);
  return Status::ok();
}

Status Context::Impl::amo(OpKind kind, void* dst, std::size_t width, std::uint64_t value,
                          std::uint64_t compare, void* result, int target, Done done) {
  RETURN_IF_ERROR(usable());
  RETURN_IF_ERROR(still_there());
  Op op;
  RETURN_IF_ERROR(check_amo(kind, dst, width, result, target, &op));
  op.value = value;
  op.compare = compare;
  const bool fetches = is_fetching(kind);
  if (job->is_on_gpu(dst)) {
    ASSIGN_OR_RETURN(const std::uint64_t old,
                     amo_on_gpu(amo_of(kind), dst, width, value, compare, target));
    if (fetches) store_result(result, old, width);
    return Status::ok();
  }
  if (std::byte* const peer = mapped(target); peer != nullptr && !by_atomics(kind, width)) {
    if (checks && kind != OpKind::kAmoFetch) note_writer(peer, op.remote);
    const std::uint64_t old = amo_at(kind, peer + op.remote, width, value, compare);
    if (fetches) store_result(result, old, width);
    return Status::ok();
  }
  // A blocking fetch lands in the context: a reply that comes after its wait has failed must not
  // write to a stack that is gone.
  const bool blocks = fetches && done == Done::kLocal;
  if (fetches) op.result = address(blocks ? fetched.get() : result);
  if (checks && kind != OpKind::kAmoFetch) RETURN_IF_ERROR(note(target, op.remote));
  LaneQueue::Ticket ticket;
  RETURN_IF_ERROR(post(op, &ticket));
  if (!blocks) return Status::ok();
  RETURN_IF_ERROR(complete(ticket, to_string(kind), target));
  std::memcpy(result, fetched.get(), width);
  return Status::ok();
}

// --- posting -------------------------------------------------------------------------------------

Status Context::Impl::post(const Op& op, LaneQueue::Ticket* ticket) {
  Status status;
  const auto taken = [&] {
    status = queue.post(op, ticket);
    return !status.is(Code::kBusy);
  };
  Status waited = wait_for(*job, &queue, taken, [&] {
    return WaitFacts{.operation = "posting",
                     .peer = static_cast<int>(op.pe),
                     .seen = fmt::format("the transport does not take the {}", describe(op))};
  });
  if (!waited.is_ok()) {
    queue.mark_failed();
    return remember(std::move(waited));
  }
  posted = true;
  ++posts;
  if (op.kind != OpKind::kFence) unfenced = true;
  return status.is_ok() ? status : remember(std::move(status));
}

Status Context::Impl::complete(LaneQueue::Ticket ticket, const char* operation, int target) {
  queue.flush();
  Status waited = wait_for(
      *job, &queue, [&] { return queue.done(ticket); },
      [&] {
        return WaitFacts{.operation = operation,
                         .peer = target,
                         .seen = fmt::format("no answer; {}", queue.describe_outstanding())};
      });
  if (!waited.is_ok()) {
    fail(waited);  // operations complete in order: none behind this one will be known to
    return waited;
  }
  Status error = queue.take_error();
  return error.is_ok() ? error : remember(std::move(error));
}

Status Context::Impl::remember(Status failure) {
  if (failure.is_ok()) return failure;
  if (first_error.is_ok()) first_error = failure;
  latest = failure;
  ++failures;
  return failure;
}

Status Context::Impl::latest_failure() {
  const auto alone = turn();
  return latest;
}

}  // namespace weft
