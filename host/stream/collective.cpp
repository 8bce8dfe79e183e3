// Collectives on streams. Small ones are one kernel of one block; large ones on GPUs are copies or
// a grid between two syncs, where the stream's order does what a barrier of the grid would.
#include <weft/on_stream.hpp>

#include <weft/dev/team_block.hpp>
#include <weft/dev/team_member.hpp>

#include "host/collective/checks.hpp"
#include "host/collective/host_fold.hpp"
#include "host/stream/call.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

using dev::coll::bytes_at;
using dev::coll::bytes_times;
using kernel::AnyFold;
using kernel::Moving;

constexpr unsigned kBlockThreads = 512;
constexpr unsigned kShareBlocks = 32;
// A block moves some 40 GB/s; copy engines begin later, and are ten times as fast.
constexpr std::size_t kOneBlockBytes = std::size_t{64} << 10;

// A warp is as many as a sync makes use of.
Status queue_sync(const StreamCall& call, const Team& team, bool completes) {
  return call.launch(32, kernel::SyncKernel{call.handle(), team, completes});
}

// `body` between two syncs of the team.
template <class Body>
Status between_syncs(const StreamCall& call, const Team& team, Body body) {
  RETURN_IF_ERROR(queue_sync(call, team, false));
  Status done = body();
  Status synced = queue_sync(call, team, true);  // in any case: the others come to theirs
  return done.is_ok() ? std::move(synced) : std::move(done);
}

// Whether one block shall move `bytes` in all.
bool is_small(const StreamCall& call, std::size_t bytes) {
  return call.gpu() == nullptr || bytes <= kOneBlockBytes;
}

std::byte* on(const StreamCall& call, const Team& team, int rank, const void* mine) {
  return call.gpu()->there(mine, team.pe_of(rank));
}

// Everybody gets a share from the root, and passes it on.
Status copy_broadcast(const StreamCall& call, const Team& team, std::byte* dst,
                      const std::byte* src, std::size_t bytes, int root) {
  const dev::Share share = dev::share_of(bytes, team.size, team.rank);
  if (share.bytes == 0) return Status::ok();
  const std::byte* const from = on(call, team, root, src) + share.offset;
  RETURN_IF_ERROR(call.copy(dst + share.offset, from, share.bytes));
  for (int i = 1; i < team.size; ++i) {
    std::byte* const to = on(call, team, dev::wrapped(team.rank + i, team.size), dst);
    RETURN_IF_ERROR(call.copy(to + share.offset, dst + share.offset, share.bytes));
  }
  return Status::ok();
}

// My block for each member, which is the same for all or, of an exchange, its own.
Status copy_blocks(const StreamCall& call, const Team& team, std::byte* dst, const std::byte* src,
                   std::size_t bytes, bool exchanges) {
  const auto at = [&](int rank) { return static_cast<std::size_t>(rank) * bytes; };
  for (int i = 0; i < team.size; ++i) {
    const int rank = dev::wrapped(team.rank + i, team.size);
    const std::byte* const from = exchanges ? src + at(rank) : src;
    RETURN_IF_ERROR(call.copy(on(call, team, rank, dst) + at(team.rank), from, bytes));
  }
  return Status::ok();
}

Status queue_move(const StreamCall& call, Moving what, const Team& team, void* dst, const void* src,
                  std::size_t bytes, int root) {
  const std::size_t all = bytes_times(bytes, team.size);
  const bool sends = what != Moving::kBroadcast || team.rank == root;
  RETURN_IF_ERROR(call.check_there("dst", dst, what == Moving::kBroadcast ? bytes : all));
  if (sends) RETURN_IF_ERROR(call.check_there("src", src, what == Moving::kAlltoall ? all : bytes));
  if (is_small(call, all))
    return call.launch(kBlockThreads, kernel::MoveKernel{call.handle(), team, what, root,
                                                         bytes_at(dst), bytes_at(src), bytes});
  return between_syncs(call, team, [&] {
    if (what == Moving::kBroadcast)
      return copy_broadcast(call, team, bytes_at(dst), bytes_at(src), bytes, root);
    return copy_blocks(call, team, bytes_at(dst), bytes_at(src), bytes, what == Moving::kAlltoall);
  });
}

Status queue_fold(const StreamCall& call, bool scatters, const Team& team, void* dst,
                  const void* src, std::size_t count, Element element, ReduceOp op) {
  ASSIGN_OR_RETURN(const HostFold known, HostFold::make(element, op));
  if (!kernel::is_on_gpus(element))
    return Status::error(
        Code::kUnsupported,
        fmt::format("{} on a stream takes integers and floats of up to 8 bytes, not {}",
                    caller_or(call.routine()), to_string(element)));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, known.element, &bytes)) bytes = kTooManyBytes;
  RETURN_IF_ERROR(call.check_there("dst", dst, bytes, known.align));
  RETURN_IF_ERROR(
      call.check_there("src", src, scatters ? bytes_times(bytes, team.size) : bytes, known.align));
  const AnyFold fold{element, op, static_cast<std::uint8_t>(known.element)};
  const TeamLayout layout = team_layout(call.handle().teams, call.handle().npes);
  const bool fits =
      !scatters && bytes <= layout.payload_bytes() && is_small(call, bytes_times(bytes, team.size));
  if (call.gpu() == nullptr || fits)
    return call.launch(kBlockThreads, kernel::FoldKernel{call.handle(), team, scatters, fold,
                                                         bytes_at(dst), bytes_at(src), count});
  const auto share = [&] {
    return call.launch_grid(kShareBlocks, kBlockThreads,
                            kernel::ShareKernel{call.handle(), team, scatters, fold, bytes_at(dst),
                                                bytes_at(src), count});
  };
  return between_syncs(call, team, [&]() -> Status {
    if (!scatters || dst != src) return share();
    // In place: where the results of the others go lies what rank 0 reads, so it goes first.
    Status first = team.rank == 0 ? share() : Status::ok();
    RETURN_IF_ERROR(queue_sync(call, team, true));
    return team.rank == 0 ? std::move(first) : share();
  });
}

// `queue(call)` for a member of the team.
template <class Queue>
Status collective(Context& ctx, Stream stream, const char* routine, const Team& team, Queue queue) {
  const auto call = StreamCall::begin(ctx, stream, routine);
  if (!call) return report(call.status());
  Status member = check_member(ctx.impl(), routine, team);
  return report(member.is_ok() ? queue(*call) : std::move(member));
}

}  // namespace

Status OnStream::sync(const Team& team) {
  return collective(*context_, stream_, "sync", team,
                    [&](const StreamCall& call) { return queue_sync(call, team, false); });
}

Status OnStream::barrier(const Team& team) {
  return collective(*context_, stream_, "barrier", team,
                    [&](const StreamCall& call) { return queue_sync(call, team, true); });
}

Status OnStream::broadcast_bytes(const Team& team, void* dst, const void* src, std::size_t bytes,
                                 int root) {
  return collective(*context_, stream_, "broadcast", team, [&](const StreamCall& call) -> Status {
    RETURN_IF_ERROR(check_root("broadcast", team, root));
    return queue_move(call, Moving::kBroadcast, team, dst, src, bytes, root);
  });
}

Status OnStream::fcollect_bytes(const Team& team, void* dst, const void* src, std::size_t bytes) {
  return collective(*context_, stream_, "fcollect", team, [&](const StreamCall& call) {
    return queue_move(call, Moving::kFcollect, team, dst, src, bytes, 0);
  });
}

Status OnStream::alltoall_bytes(const Team& team, void* dst, const void* src, std::size_t bytes) {
  return collective(*context_, stream_, "alltoall", team, [&](const StreamCall& call) {
    return queue_move(call, Moving::kAlltoall, team, dst, src, bytes, 0);
  });
}

Status OnStream::reduce_elements(const Team& team, void* dst, const void* src, std::size_t count,
                                 Element element, ReduceOp op) {
  return collective(*context_, stream_, "reduce", team, [&](const StreamCall& call) {
    return queue_fold(call, false, team, dst, src, count, element, op);
  });
}

Status OnStream::reducescatter_elements(const Team& team, void* dst, const void* src,
                                        std::size_t count, Element element, ReduceOp op) {
  return collective(*context_, stream_, "reducescatter", team, [&](const StreamCall& call) {
    return queue_fold(call, true, team, dst, src, count, element, op);
  });
}

}  // namespace weft
