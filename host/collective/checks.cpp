#include "host/collective/checks.hpp"

#include <cstring>
#include <string>

#include <fmt/format.h>

#include "host/collective/host_fold.hpp"
#include "src/base/status.hpp"

namespace weft {

const char* to_string(Routine routine) {
  switch (routine) {
    case Routine::kSync: return "sync";
    case Routine::kBarrier: return "barrier";
    case Routine::kBroadcast: return "broadcast";
    case Routine::kFcollect: return "fcollect";
    case Routine::kCollect: return "collect";
    case Routine::kAlltoall: return "alltoall";
    case Routine::kAlltoalls: return "alltoalls";
    case Routine::kReduce: return "reduce";
    case Routine::kReduceScatter: return "reducescatter";
    case Routine::kScanInclusive: return "scan_inclusive";
    case Routine::kScanExclusive: return "scan_exclusive";
  }
  return "?";
}

Status slow::check_member(const Context::Impl& c, const char* routine, const Team& team) {
  if (team.id < 0 || team.id >= c.job->teams.count || team.size < 1 || team.size > c.npes)
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{} on PE {}: the team (id {}, {} PEs) does not exist; was it destroyed, or is "
                    "this PE not a member of it?",
                    caller_or(routine), c.pe, team.id, team.size));
  if (team.is_member() && team.pe_of(team.rank) == c.pe) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: PE {} is not a member of team {} ({} PEs); only members take part",
                  caller_or(routine), c.pe, team.id, team.size));
}

Status check_root(const char* routine, const Team& team, int root) {
  if (root >= 0 && root < team.size) return Status::ok();
  return Status::error(
      Code::kOutOfRange,
      fmt::format("{}: root {} is not a rank of team {}, which has ranks 0 to {} (a root is a rank "
                  "of the team, not a PE)",
                  caller_or(routine), root, team.id, team.size - 1));
}

Status slow::check_blocks(const Context::Impl& c, const char* routine, const char* argument,
                          const void* address, std::size_t bytes, int times, std::size_t align) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(times), &all)) all = kTooManyBytes;
  if (all == 0) return Status::ok();
  if (c.checks || c.heap->try_offset(address, all) == Heap::kNoOffset)
    RETURN_IF_ERROR(check_symmetric(*c.heap, routine, argument, address, all, c.checks).status());
  return check_aligned(routine, argument, address, align);
}

Status slow::check_apart(const char* routine, const void* dst, std::size_t dst_bytes,
                         const void* src, std::size_t src_bytes, bool in_place) {
  if (dst_bytes == 0 || src_bytes == 0) return Status::ok();
  if (dst == src && in_place) return Status::ok();
  const auto to = reinterpret_cast<std::uintptr_t>(dst);
  const auto from = reinterpret_cast<std::uintptr_t>(src);
  if (to + dst_bytes <= from || from + src_bytes <= to) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: {} ({} bytes at {:#x}) and {} ({} bytes at {:#x}) overlap; {}",
                  caller_or(routine), caller_argument("dst"), dst_bytes, to, caller_argument("src"),
                  src_bytes, from,
                  in_place ? "they must be the same or apart" : "they must be apart"));
}

namespace {

// "reduce(int32 sum, dst at heap offset 0x40, src at 0x80, blocks of 8 bytes)"
std::string describe(const CollectiveCall& call) {
  if (call.routine <= Routine::kBarrier) return fmt::format("{}()", to_string(call.routine));
  std::string detail;
  if (call.routine == Routine::kBroadcast) detail = fmt::format("root {}, ", call.detail);
  if (call.routine >= Routine::kReduce)
    detail = fmt::format("{} {}, ", to_string(static_cast<Element>(call.detail >> 8)),
                         to_string(static_cast<ReduceOp>(call.detail & 0xff)));
  std::string sizes;
  if (call.routine != Routine::kBroadcast) sizes += fmt::format(", src at {:#x}", call.src);
  if (call.routine != Routine::kCollect) sizes += fmt::format(", blocks of {} bytes", call.bytes);
  if (call.routine == Routine::kAlltoalls)
    sizes += fmt::format(", strides {} and {}", call.strides[0], call.strides[1]);
  return fmt::format("{}({}dst at heap offset {:#x}{})", to_string(call.routine), detail, call.dst,
                     sizes);
}

}  // namespace

bool exchange_calls(HostMember& m, const CollectiveCall& mine, Status* verdict) {
  if (!m.begin()) return false;
  m.for_peers(0, m.size(), sizeof(mine), [&](auto caller, int to) {
    m.send(caller, to, m.payload(m.rank()), &mine, sizeof(mine));
  });
  if (!m.all_arrived(0, m.size())) return false;
  m.end_all();
  for (int rank = 0; rank < m.size() && verdict->is_ok(); ++rank) {
    if (rank == m.rank()) continue;
    CollectiveCall other;
    std::memcpy(&other, m.payload(rank), sizeof(other));
    if (std::memcmp(&other, &mine, sizeof(mine)) == 0) continue;
    *verdict = Status::error(
        other.routine == mine.routine ? Code::kNotSymmetric : Code::kInvalidArgument,
        fmt::format("members of a team must make the same collective calls in the same order: PE "
                    "{} calls {}, PE {} calls {}",
                    m.pe(m.rank()), describe(mine), m.pe(rank), describe(other)));
  }
  return true;
}

}  // namespace weft
