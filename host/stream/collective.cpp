// Collectives on streams. Small ones are one kernel of one block, medium ones on GPUs a grid with
// barriers in it; large ones are copies, and those of many members a grid, between two syncs, where
// the stream's order does what a barrier of the grid would.
#include <weft/on_stream.hpp>

#include <algorithm>

#include <weft/dev/team_block.hpp>
#include <weft/dev/team_member.hpp>

#include "host/collective/checks.hpp"
#include "host/collective/host_fold.hpp"
#include "host/context/check.hpp"
#include "host/stream/call.hpp"
#include "src/base/status.hpp"

namespace weft {
namespace {

using dev::coll::bytes_at;
using dev::coll::bytes_times;
using kernel::AnyFold;
using kernel::Folding;
using kernel::Moving;

constexpr unsigned kWarpThreads = 32;  // as many as a sync makes use of
constexpr unsigned kBlockThreads = 512;
// A block moves some 40 GB/s, and a grid as much as there is. Copy engines are as fast, begin 15 us
// later, and leave the GPU to others.
constexpr std::size_t kOneBlockBytes = std::size_t{16} << 10;
constexpr std::size_t kGridBytes = std::size_t{8} << 20;
constexpr std::size_t kShareBytes = std::size_t{8} << 10;  // that is worth a block

Status queue_sync(const StreamCall& call, const Team& team, bool completes) {
  return call.launch(kWarpThreads, kernel::SyncKernel{call.handle(), team, completes});
}

// `body` between two syncs of the team.
template <class Body>
Status between_syncs(const StreamCall& call, const Team& team, Body body) {
  RETURN_IF_ERROR(queue_sync(call, team, false));
  Status done = body();
  Status synced = queue_sync(call, team, true);  // in any case: the others come to theirs
  return done.is_ok() ? std::move(synced) : std::move(done);
}

// `launch(words)` of a grid with barriers in it, or, of many members, between two syncs, without
// words.
template <class Launch>
Status queue_grid(const StreamCall& call, const Team& team, Launch launch) {
  if (call.handle().teams.packed_bytes != 0 && team.size <= kFlatSync)
    return launch(call.gpu()->grid_words(team.id));
  return between_syncs(call, team, [&] { return launch(nullptr); });
}
// The number of its blocks, for a collective that moves `bytes` in all: the same on all members.
// The blocks of members that share a GPU have to be resident at once.
unsigned grid_blocks(const StreamCall& call, std::size_t bytes) {
  const std::size_t most = kernel::kGridBlocks / static_cast<unsigned>(call.gpu()->sharers());
  return static_cast<unsigned>(
      std::clamp<std::size_t>(bytes / kShareBytes + 1, 1, std::max<std::size_t>(most, 1)));
}

// Whether one block shall move `bytes` in all: few, or where copies do not reach every PE.
bool by_one_block(const StreamCall& call, std::size_t bytes) {
  return !call.reaches_all() || bytes <= kOneBlockBytes;
}

std::byte* on(const StreamCall& call, const Team& team, int rank, const void* mine) {
  return call.there(mine, team.pe_of(rank));
}

// Everybody gets a share from the root, and passes it on; the root takes one of its own.
Status copy_broadcast(const StreamCall& call, const Team& team, std::byte* dst,
                      const std::byte* src, std::size_t bytes, int root, bool root_too) {
  const dev::Share share = dev::share_of(bytes, team.size, team.rank);
  if (share.bytes == 0) return Status::ok();
  const bool is_root = team.rank == root;
  const std::byte* const mine = (is_root ? src : dst) + share.offset;
  if (!is_root)
    RETURN_IF_ERROR(
        call.copy(dst + share.offset, on(call, team, root, src) + share.offset, share.bytes));
  for (int i = 1; i <= team.size; ++i) {
    const int rank = dev::wrapped(team.rank + i, team.size);
    std::byte* const to = on(call, team, rank, dst) + share.offset;
    if (to == mine || (rank == root && !root_too)) continue;
    RETURN_IF_ERROR(call.copy(to, mine, share.bytes));
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
                  std::size_t bytes, int root = 0, bool root_too = true) {
  const std::size_t all = bytes_times(bytes, team.size);
  RETURN_IF_ERROR(call.check_there("dst", dst, what == Moving::kBroadcast ? bytes : all));
  RETURN_IF_ERROR(call.check_there("src", src, what == Moving::kAlltoall ? all : bytes));
  if (by_one_block(call, what == Moving::kBroadcast ? bytes : all))
    return call.launch(kBlockThreads, kernel::MoveKernel{call.handle(), team, what, root_too, root,
                                                         bytes_at(dst), bytes_at(src), bytes});
  if (all <= kGridBytes)
    return queue_grid(call, team, [&](std::byte* words) {
      return call.launch_grid(grid_blocks(call, all), kBlockThreads,
                              kernel::MoveShareKernel{call.handle(), team, words, what, root_too,
                                                      root, bytes_at(dst), bytes_at(src), bytes});
    });
  return between_syncs(call, team, [&] {
    if (what == Moving::kBroadcast)
      return copy_broadcast(call, team, bytes_at(dst), bytes_at(src), bytes, root, root_too);
    return copy_blocks(call, team, bytes_at(dst), bytes_at(src), bytes, what == Moving::kAlltoall);
  });
}

Status check_collect(const StreamCall& call, const void* dst, const void* src, std::size_t bytes) {
  RETURN_IF_ERROR(call.check_there("dst", dst, bytes));
  return call.check_there("src", src, bytes);
}

// How much the others bring is known when it runs. So is whether all have found their arguments
// good: who has not takes part with a size that fits nowhere, at which all fail.
Status queue_collect(const StreamCall& call, const Team& team, void* dst, const void* src,
                     std::size_t bytes) {
  Status mine = check_collect(call, dst, src, bytes);
  std::byte* const to = bytes_at(dst);
  const std::byte* const from = bytes_at(src);
  const std::size_t told = mine.is_ok() ? bytes : kTooManyBytes;
  const auto queue = [&]() -> Status {
    if (call.gpu() == nullptr)
      return call.launch(
          1, kernel::MoveKernel{call.handle(), team, Moving::kCollect, true, 0, to, from, told});
    RETURN_IF_ERROR(call.launch(kWarpThreads, kernel::TellKernel{call.handle(), team, to, told}));
    Status spread = call.launch_grid(kernel::kGridBlocks, kBlockThreads,
                                     kernel::SpreadKernel{call.handle(), team, to, from, told});
    Status synced = queue_sync(call, team, true);
    return spread.is_ok() ? std::move(synced) : std::move(spread);
  };
  Status queued = queue();
  return mine.is_ok() ? std::move(queued) : std::move(mine);
}

Status queue_alltoalls(const StreamCall& call, const Team& team, void* dst, const void* src,
                       std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride, std::size_t element,
                       std::size_t count) {
  const std::size_t elements = bytes_times(count, team.size);
  ASSIGN_OR_RETURN(const std::size_t dst_bytes,
                   check_extent(call.routine(), "dst_stride", dst_stride, element, elements));
  ASSIGN_OR_RETURN(const std::size_t src_bytes,
                   check_extent(call.routine(), "src_stride", src_stride, element, elements));
  if (dst_stride == 1 && src_stride == 1)
    return queue_move(call, Moving::kAlltoall, team, dst, src, element * count);
  RETURN_IF_ERROR(call.check_there("dst", dst, dst_bytes));
  RETURN_IF_ERROR(call.check_there("src", src, src_bytes));
  const kernel::StridedKernel strided{.handle = call.handle(),
                                      .team = team,
                                      .dst = bytes_at(dst),
                                      .src = bytes_at(src),
                                      .dst_stride = static_cast<std::size_t>(dst_stride) * element,
                                      .src_stride = static_cast<std::size_t>(src_stride) * element,
                                      .element = element,
                                      .count = count};
  if (by_one_block(call, elements * element)) return call.launch(kBlockThreads, strided);
  return queue_grid(call, team, [&](std::byte* words) {
    return call.launch_grid(grid_blocks(call, elements * element), kBlockThreads,
                            kernel::StridedShareKernel{strided, words});
  });
}

// Folds that do not go by one block.
Status queue_shares(const StreamCall& call, Folding what, const Team& team, const AnyFold& fold,
                    std::byte* dst, const std::byte* src, std::size_t count) {
  const bool scatters = what == Folding::kReduceScatter;
  const std::size_t bytes =
      count * fold.element * (scatters ? static_cast<std::size_t>(team.size) : 1);
  const auto share = [&](std::byte* words) {
    const kernel::GridFold grid{call.handle(), team, words, fold, dst, src, count};
    const unsigned blocks = grid_blocks(call, bytes);
    if (kernel::is_scan(what))
      return call.launch_grid(blocks, kBlockThreads,
                              kernel::ScanShareKernel{grid, what == Folding::kScanInclusive});
    return call.launch_grid(blocks, kBlockThreads, kernel::ShareKernel{grid, scatters});
  };
  if (!scatters || dst != src) return queue_grid(call, team, share);
  // In place: where the results of the others go lies what rank 0 reads, so it goes first.
  return between_syncs(call, team, [&]() -> Status {
    Status first = team.rank == 0 ? share(nullptr) : Status::ok();
    RETURN_IF_ERROR(queue_sync(call, team, true));
    return team.rank == 0 ? std::move(first) : share(nullptr);
  });
}

Status queue_fold(const StreamCall& call, Folding what, const Team& team, void* dst,
                  const void* src, std::size_t count, Element element, ReduceOp op) {
  ASSIGN_OR_RETURN(const HostFold known, HostFold::make(element, op));
  if (!kernel::is_on_gpus(element))
    return Status::error(
        Code::kUnsupported,
        fmt::format("{} on a stream takes integers and floats of up to 8 bytes, not {}",
                    caller_or(call.routine()), to_string(element)));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, known.element, &bytes)) bytes = kTooManyBytes;
  const bool scatters = what == Folding::kReduceScatter;
  const std::size_t all = bytes_times(bytes, team.size);
  RETURN_IF_ERROR(call.check_there("dst", dst, bytes, known.align));
  RETURN_IF_ERROR(call.check_there("src", src, scatters ? all : bytes, known.align));
  const AnyFold fold{element, op, static_cast<std::uint8_t>(known.element)};
  const TeamLayout layout = team_layout(call.handle().teams, call.handle().npes);
  const bool fits = layout.packs(kernel::is_scan(what) ? 0 : bytes) ||
                    (!scatters && bytes <= layout.payload_bytes());
  if (!call.reaches_all() || (fits && by_one_block(call, all)))
    return call.launch(kBlockThreads,
                       kernel::FoldKernel{call.handle(), team, what, call.gpu() != nullptr, fold,
                                          bytes_at(dst), bytes_at(src), count});
  return queue_shares(call, what, team, fold, bytes_at(dst), bytes_at(src), count);
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
                                 int root, bool root_too) {
  return collective(*context_, stream_, "broadcast", team, [&](const StreamCall& call) -> Status {
    RETURN_IF_ERROR(check_root("broadcast", team, root));
    return queue_move(call, Moving::kBroadcast, team, dst, src, bytes, root, root_too);
  });
}

Status OnStream::fcollect_bytes(const Team& team, void* dst, const void* src, std::size_t bytes) {
  return collective(*context_, stream_, "fcollect", team, [&](const StreamCall& call) {
    return queue_move(call, Moving::kFcollect, team, dst, src, bytes);
  });
}

Status OnStream::collect_bytes(const Team& team, void* dst, const void* src, std::size_t bytes) {
  return collective(*context_, stream_, "collect", team, [&](const StreamCall& call) {
    return queue_collect(call, team, dst, src, bytes);
  });
}

Status OnStream::alltoall_bytes(const Team& team, void* dst, const void* src, std::size_t bytes) {
  return collective(*context_, stream_, "alltoall", team, [&](const StreamCall& call) {
    return queue_move(call, Moving::kAlltoall, team, dst, src, bytes);
  });
}

Status OnStream::alltoalls_bytes(const Team& team, void* dst, const void* src,
                                 std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride,
                                 std::size_t element, std::size_t count) {
  return collective(*context_, stream_, "alltoalls", team, [&](const StreamCall& call) {
    return queue_alltoalls(call, team, dst, src, dst_stride, src_stride, element, count);
  });
}

Status OnStream::reduce_elements(const Team& team, void* dst, const void* src, std::size_t count,
                                 Element element, ReduceOp op) {
  return collective(*context_, stream_, "reduce", team, [&](const StreamCall& call) {
    return queue_fold(call, Folding::kReduce, team, dst, src, count, element, op);
  });
}

Status OnStream::reducescatter_elements(const Team& team, void* dst, const void* src,
                                        std::size_t count, Element element, ReduceOp op) {
  return collective(*context_, stream_, "reducescatter", team, [&](const StreamCall& call) {
    return queue_fold(call, Folding::kReduceScatter, team, dst, src, count, element, op);
  });
}

Status OnStream::scan_elements(const Team& team, void* dst, const void* src, std::size_t count,
                               Element element, ReduceOp op, bool inclusive) {
  const char* const routine = inclusive ? "scan_inclusive" : "scan_exclusive";
  const Folding what = inclusive ? Folding::kScanInclusive : Folding::kScanExclusive;
  return collective(*context_, stream_, routine, team, [&](const StreamCall& call) {
    return queue_fold(call, what, team, dst, src, count, element, op);
  });
}

}  // namespace weft
