// The exported collectives: check, then one call of the algorithm on a host thread.
#include <weft/collective.hpp>

#include <fmt/format.h>

#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_reduce.hpp>
#include <weft/on_stream.hpp>

#include "host/collective/checks.hpp"
#include "host/collective/context_port.hpp"
#include "host/collective/host_fold.hpp"
#include "host/context/impl.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

Status broken_team(const char* routine, const Team& team) {
  return Status::error(
      Code::kTimeout,
      fmt::format("{}: an earlier collective on team {} failed, so its members are out of step; "
                  "make a new team of those that are left",
                  caller_or(routine), team.id));
}

Status ready(Context::Impl& c) {
  const auto alone = c.turn();
  if (c.job->has_ended() || !c.failed.is_ok()) [[unlikely]]
    return c.usable();
  return Status::ok();
}

// `algorithm(member)` on my block of the team. The arguments have passed their checks.
template <class Algorithm>
Status run(Context::Impl& c, const Team& team, const CollectiveCall& call, Algorithm algorithm) {
  RETURN_IF_ERROR(ready(c));
  const char* routine = to_string(call.routine);
  ContextPort port(c, routine);
  HostMember member(port, HostThread{}, team);
  if (member.broken()) [[unlikely]]
    return broken_team(routine, team);
  Status verdict;
  bool ok = !c.checks || exchange_calls(member, call, &verdict);
  if (ok && verdict.is_ok()) ok = algorithm(member);
  member.finish(ok);
  Status status = port.take_status();
  return status.is_ok() ? verdict : status;
}

std::byte* bytes_at(void* p) { return static_cast<std::byte*>(p); }
const std::byte* bytes_at(const void* p) { return static_cast<const std::byte*>(p); }

CollectiveCall call_of(const Context::Impl& c, Routine routine, const void* dst, const void* src,
                       std::size_t bytes) {
  CollectiveCall call;
  call.routine = routine;
  if (c.checks && bytes != 0) {
    call.dst = c.heap->try_offset(dst, 0);
    call.src = c.heap->try_offset(src, 0);
  }
  call.bytes = bytes;
  return call;
}

// A sync by this thread alone, and nothing else. False: its wait failed, or that of an earlier call
// did, which has left the team broken.
bool meet(ContextPort& port, const Team& team, bool& was_broken) {
  std::byte* const block = port.block(team.id);
  auto* const kept = reinterpret_cast<TeamHeader*>(block);
  const auto ask = dev::platform::load<dev::Order::kRelaxed, dev::Reach::kBlock, std::uint64_t>;
  was_broken = ask(&kept->broken) != 0;
  if (was_broken) return false;
  const std::uint64_t epoch = kept->epoch + 1;
  dev::tell_all(port, HostThread{}, team, epoch);
  kept->epoch = epoch;  // while the words are under way
  kept->synced = kept->seq;
  kept->packed_synced = kept->packed;
  return dev::agree(HostThread{}, block, dev::hear_all(port, HostThread{}, team, epoch));
}

// Members' calls are compared first, where they are checked; then it is a barrier and nothing else.
Status sync_call(Context::Impl& c, const Team& team, Routine routine) {
  const char* const name = to_string(routine);
  RETURN_IF_ERROR(check_member(c, name, team));
  CollectiveCall call;
  call.routine = routine;
  if (c.checks) RETURN_IF_ERROR(run(c, team, call, [](HostMember&) { return true; }));
  RETURN_IF_ERROR(ready(c));
  ContextPort port(c, name);
  bool is_broken = false;
  // In this order: an op that another thread posts meanwhile shows in at least one of the two.
  const std::uint64_t before = c.posts;
  const bool owes_quiet = c.owes_quiet();
  meet(port, team, is_broken);
  const std::uint64_t after = before + port.signals();
  if (!owes_quiet && after != before && c.posts == after)
    c.met.store(after, std::memory_order_relaxed);
  return is_broken ? broken_team(name, team) : port.take_status();
}

// Stores to mapped peers need no more than the sync: its signals release them. Operations that went
// as Ops must be complete. The sync takes place in any case, or the others would wait for nothing.
Status barrier_call(Context::Impl& c, const Team& team) {
  if (!c.owes_quiet()) [[likely]]
    return sync_call(c, team, Routine::kBarrier);
  const auto complete = [&] {
    const auto alone = c.turn();
    return c.quiet(Context::Impl::kAnyPe);
  };
  Status quiet = complete();
  Status synced = sync_call(c, team, Routine::kBarrier);
  return synced.is_ok() ? quiet : synced;
}

Status broadcast_call(Context::Impl& c, const Team& team, void* dst, const void* src,
                      std::size_t bytes, int root, bool root_too) {
  constexpr const char* kRoutine = "broadcast";
  RETURN_IF_ERROR(check_member(c, kRoutine, team));
  RETURN_IF_ERROR(check_root(kRoutine, team, root));
  // All look at src, though the root alone reads it: what is wrong is refused by all or by none.
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "dst", dst, bytes, 1, 1));
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "src", src, bytes, 1, 1));
  RETURN_IF_ERROR(check_apart(c, kRoutine, dst, bytes, src, bytes, true));
  CollectiveCall call = call_of(c, Routine::kBroadcast, dst, dst, bytes);
  call.detail = static_cast<std::uint32_t>(root);
  return run(c, team, call, [&](HostMember& m) {
    return dev::coll::broadcast(m, bytes_at(dst), bytes_at(src), bytes, root, root_too);
  });
}

Status fcollect_call(Context::Impl& c, const Team& team, void* dst, const void* src,
                     std::size_t bytes) {
  constexpr const char* kRoutine = "fcollect";
  RETURN_IF_ERROR(check_member(c, kRoutine, team));
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "dst", dst, bytes, team.size, 1));
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "src", src, bytes, 1, 1));
  const std::size_t all = bytes * static_cast<std::size_t>(team.size);
  RETURN_IF_ERROR(check_apart(c, kRoutine, dst, all, src, bytes, false));
  return run(c, team, call_of(c, Routine::kFcollect, dst, src, bytes), [&](HostMember& m) {
    return dev::coll::fcollect(m, bytes_at(dst), bytes_at(src), bytes);
  });
}

// How much dst takes is known only once the members have told their sizes; it is checked then.
// Whether the arguments are right may depend on my size, too. So a member that finds them wrong
// takes part with a size that fits nowhere, and all refuse.
Status collect_call(Context::Impl& c, const Team& team, void* dst, const void* src,
                    std::size_t bytes) {
  constexpr const char* kRoutine = "collect";
  RETURN_IF_ERROR(check_member(c, kRoutine, team));
  const auto check = [&]() -> Status {
    RETURN_IF_ERROR(check_blocks(c, kRoutine, "dst", dst, bytes, 1, 1));
    RETURN_IF_ERROR(check_blocks(c, kRoutine, "src", src, bytes, 1, 1));
    return check_apart(c, kRoutine, dst, bytes, src, bytes, false);
  };
  const Status mine = check();
  const std::size_t told = mine.is_ok() ? bytes : kTooManyBytes;
  CollectiveCall call = call_of(c, Routine::kCollect, dst, src, 0);  // sizes may differ
  Status all = run(c, team, call, [&](HostMember& m) {
    return dev::coll::collect(m, bytes_at(dst), bytes_at(src), told);
  });
  return mine.is_ok() ? all : mine;
}

Status alltoall_call(Context::Impl& c, const Team& team, void* dst, const void* src,
                     std::size_t bytes) {
  constexpr const char* kRoutine = "alltoall";
  RETURN_IF_ERROR(check_member(c, kRoutine, team));
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "dst", dst, bytes, team.size, 1));
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "src", src, bytes, team.size, 1));
  const std::size_t all = bytes * static_cast<std::size_t>(team.size);
  RETURN_IF_ERROR(check_apart(c, kRoutine, dst, all, src, all, false));
  return run(c, team, call_of(c, Routine::kAlltoall, dst, src, bytes), [&](HostMember& m) {
    return dev::coll::alltoall(m, bytes_at(dst), bytes_at(src), bytes);
  });
}

Status alltoalls_call(Context::Impl& c, const Team& team, void* dst, const void* src,
                      std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride, std::size_t element,
                      std::size_t count) {
  constexpr const char* kRoutine = "alltoalls";
  RETURN_IF_ERROR(check_member(c, kRoutine, team));
  std::size_t elements = 0;
  if (__builtin_mul_overflow(count, static_cast<std::size_t>(team.size), &elements))
    elements = kTooManyBytes;
  // From the first element of the first block to the last of the last.
  ASSIGN_OR_RETURN(const std::size_t dst_bytes,
                   check_extent(kRoutine, "dst_stride", dst_stride, element, elements));
  ASSIGN_OR_RETURN(const std::size_t src_bytes,
                   check_extent(kRoutine, "src_stride", src_stride, element, elements));
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "dst", dst, dst_bytes, 1, 1));
  RETURN_IF_ERROR(check_blocks(c, kRoutine, "src", src, src_bytes, 1, 1));
  RETURN_IF_ERROR(check_apart(c, kRoutine, dst, dst_bytes, src, src_bytes, false));
  CollectiveCall call = call_of(c, Routine::kAlltoalls, dst, src, element * count);
  call.strides[0] = static_cast<std::uint64_t>(dst_stride);
  call.strides[1] = static_cast<std::uint64_t>(src_stride);
  const std::size_t to = static_cast<std::size_t>(dst_stride) * element;
  const std::size_t from = static_cast<std::size_t>(src_stride) * element;
  return run(c, team, call, [&](HostMember& m) {
    return dev::coll::alltoalls(m, {bytes_at(dst), bytes_at(src), to, from, element, count});
  });
}

// Reductions and scans share this: src holds `src_blocks` times what dst holds.
template <class Algorithm>
Status fold_call(Context::Impl& c, const Team& team, Routine routine, void* dst, const void* src,
                 std::size_t count, Element element, ReduceOp op, bool src_per_member,
                 Algorithm algorithm) {
  const char* name = to_string(routine);
  RETURN_IF_ERROR(check_member(c, name, team));
  ASSIGN_OR_RETURN(const HostFold fold, HostFold::make(element, op));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, fold.element, &bytes)) bytes = kTooManyBytes;
  const int src_blocks = src_per_member ? team.size : 1;
  RETURN_IF_ERROR(check_blocks(c, name, "dst", dst, bytes, 1, fold.align));
  RETURN_IF_ERROR(check_blocks(c, name, "src", src, bytes, src_blocks, fold.align));
  const std::size_t src_bytes = bytes * static_cast<std::size_t>(src_blocks);
  RETURN_IF_ERROR(check_apart(c, name, dst, bytes, src, src_bytes, true));
  CollectiveCall call = call_of(c, routine, dst, src, bytes);
  call.detail = static_cast<std::uint32_t>(element) << 8 | static_cast<std::uint32_t>(op);
  return run(c, team, call,
             [&](HostMember& m) { return algorithm(m, bytes_at(dst), bytes_at(src), fold); });
}

bool is_for_gpu(Context& ctx, const void* dst) { return ctx.impl().job->is_on_gpu(dst); }

// Host threads do not reach GPU memory: their collectives there are those of a stream, and
// complete.
template <class Queue>
Status on_gpu(Context& ctx, Queue queue) {
  Job& job = *ctx.impl().job;
  const auto lease = job.gpu->streams().take();
  if (!lease) return report(lease.status());
  OnStream stream(ctx, lease->stream());
  const Status queued = queue(stream);  // has been reported
  // In any case: a part may have been queued, and the stream goes back.
  Status done = job.gpu->platform().synchronize(lease->stream());
  RETURN_IF_ERROR(queued);
  return report(done.is_ok() ? job.device_health() : std::move(done));
}

}  // namespace

Status sync(Context& ctx, const Team& team) {
  return report(sync_call(ctx.impl(), team, Routine::kSync));
}

Status barrier(Context& ctx, const Team& team) { return report(barrier_call(ctx.impl(), team)); }

Status broadcast_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                       std::size_t bytes, int root, bool root_too) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(
        ctx, [&](OnStream& q) { return q.broadcast_bytes(team, dst, src, bytes, root, root_too); });
  return report(broadcast_call(ctx.impl(), team, dst, src, bytes, root, root_too));
}

Status fcollect_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                      std::size_t bytes) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(ctx, [&](OnStream& q) { return q.fcollect_bytes(team, dst, src, bytes); });
  return report(fcollect_call(ctx.impl(), team, dst, src, bytes));
}

Status collect_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                     std::size_t bytes) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(ctx, [&](OnStream& q) { return q.collect_bytes(team, dst, src, bytes); });
  return report(collect_call(ctx.impl(), team, dst, src, bytes));
}

Status alltoall_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                      std::size_t bytes) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(ctx, [&](OnStream& q) { return q.alltoall_bytes(team, dst, src, bytes); });
  return report(alltoall_call(ctx.impl(), team, dst, src, bytes));
}

Status alltoalls_bytes(Context& ctx, const Team& team, void* dst, const void* src,
                       std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride, std::size_t element,
                       std::size_t count) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(ctx, [&](OnStream& q) {
      return q.alltoalls_bytes(team, dst, src, dst_stride, src_stride, element, count);
    });
  return report(alltoalls_call(ctx.impl(), team, dst, src, dst_stride, src_stride, element, count));
}

Status reduce_elements(Context& ctx, const Team& team, void* dst, const void* src,
                       std::size_t count, Element element, ReduceOp op) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(
        ctx, [&](OnStream& q) { return q.reduce_elements(team, dst, src, count, element, op); });
  return report(
      fold_call(ctx.impl(), team, Routine::kReduce, dst, src, count, element, op, false,
                [&](HostMember& m, std::byte* to, const std::byte* from, const HostFold& fold) {
                  return dev::coll::reduce(m, to, from, count, fold);
                }));
}

Status reducescatter_elements(Context& ctx, const Team& team, void* dst, const void* src,
                              std::size_t count, Element element, ReduceOp op) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(ctx, [&](OnStream& q) {
      return q.reducescatter_elements(team, dst, src, count, element, op);
    });
  return report(
      fold_call(ctx.impl(), team, Routine::kReduceScatter, dst, src, count, element, op, true,
                [&](HostMember& m, std::byte* to, const std::byte* from, const HostFold& fold) {
                  return dev::coll::reducescatter(m, to, from, count, fold);
                }));
}

Status scan_elements(Context& ctx, const Team& team, void* dst, const void* src, std::size_t count,
                     Element element, ReduceOp op, bool inclusive) {
  if (is_for_gpu(ctx, dst))
    return on_gpu(ctx, [&](OnStream& q) {
      return q.scan_elements(team, dst, src, count, element, op, inclusive);
    });
  const Routine routine = inclusive ? Routine::kScanInclusive : Routine::kScanExclusive;
  return report(
      fold_call(ctx.impl(), team, routine, dst, src, count, element, op, false,
                [&](HostMember& m, std::byte* to, const std::byte* from, const HostFold& fold) {
                  return dev::coll::scan(m, to, from, count, fold, inclusive);
                }));
}

}  // namespace weft
