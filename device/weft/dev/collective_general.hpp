// Collectives of any team, by any scope: where members do not map one another, or are many, or what
// is asked for has no quicker way. One function, which is there once for all calls of a program, as
// most never come here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_port.hpp>
#include <weft/dev/collective_reduce.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/team_sync.hpp>
#include <weft/dev/team_member.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

// Which threads call together, as a value.
class AnyScope {
 public:
  WEFT_DEVICE explicit AnyScope(Thread) : kind_(Kind::kThread), thread_(0) {}
  WEFT_DEVICE explicit AnyScope(const KnownWarp& warp) : kind_(Kind::kWarp), thread_(warp.thread) {}
  WEFT_DEVICE explicit AnyScope(const KnownBlock& block)
      : kind_(Kind::kBlock), thread_(block.thread) {}

  WEFT_DEVICE int rank() const {
    return static_cast<int>(kind_ == Kind::kWarp ? thread_ % platform::kWarpSize : thread_);
  }
  WEFT_DEVICE int size() const {
    if (kind_ == Kind::kThread) return 1;
    return kind_ == Kind::kWarp ? warp_size_of(thread_) : static_cast<int>(platform::block_size());
  }
  WEFT_DEVICE void sync() const {
    if (kind_ == Kind::kWarp)
      platform::sync_warp();
    else if (kind_ == Kind::kBlock)
      platform::sync_block();
  }
  WEFT_DEVICE bool all(bool mine) const {
    if (kind_ == Kind::kThread) return mine;
    return kind_ == Kind::kWarp ? platform::warp_all(mine) : platform::block_all(mine);
  }

 private:
  enum class Kind : std::uint8_t { kThread, kWarp, kBlock };
  Kind kind_;
  unsigned thread_;
};

template <class Scope>
WEFT_DEVICE bool do_work(TeamMember<ContextPort, Scope>& m, const Call& call) {
  const Buffers& b = call.buffers;
  [[maybe_unused]] const std::size_t count =
      call.fold.element != 0 ? b.bytes / call.fold.element : 0;
  switch (call.routine) {
    case Routine::kSync: return m.sync();
    case Routine::kBroadcast: return broadcast(m, b.dst, b.src, b.bytes, call.root);
#if defined(WEFT_DEVICE_SYNC_BROADCAST_FCOLLECT)  // of a library that has no others
    default: return fcollect(m, b.dst, b.src, b.bytes);
  }
#else
    case Routine::kFcollect: return fcollect(m, b.dst, b.src, b.bytes);
    case Routine::kCollect: return collect(m, b.dst, b.src, b.bytes);
    case Routine::kAlltoall: return alltoall(m, b.dst, b.src, b.bytes);
    case Routine::kAlltoalls: return alltoalls(m, call.strided);
    case Routine::kReduce: return reduce(m, b.dst, b.src, count, call.fold);
    case Routine::kReduceScatter: return reducescatter(m, b.dst, b.src, count, call.fold);
    default:
      return scan(m, b.dst, b.src, count, call.fold, call.routine == Routine::kScanInclusive);
  }
#endif
}

template <class Scope>
WEFT_DEVICE_CALLED bool run_by(const Call& call, ByValue<Scope> scope) {
  ContextPort port(call);
  TeamMember<ContextPort, Scope> member(port, scope, call.team);
  platform::lies_in_memory(member);
  if (!member.broken()) return member.finish(do_work(member, call));
  if (scope.rank() == 0) refuse_team(call.h, FaultCode::kTeamBroken, call.where, call.team, 0);
  return member.finish(false);
}
template <class Scope>
WEFT_DEVICE_CALLED bool make_ready_by(const Call& call, ByValue<Scope> scope, bool syncs_first,
                                      bool wipes) {
  const ContextPort port(call);
  return make_packed_ready(port, scope, call.team, syncs_first, wipes,
                           [&] { return run_by(call, scope); });
}

// By a scope of Weft's, or one that somebody else made.
template <class Scope>
inline constexpr bool kIsOfWeft =
    std::is_same_v<Scope, Thread> || std::is_base_of_v<KnownWarp, Scope> ||
    std::is_base_of_v<KnownBlock, Scope>;
template <class Scope>
WEFT_DEVICE bool run_generally(const Call& call, const Scope& scope) {
  if constexpr (is_bulk<Scope>)
    return run_generally(call, as_scope(scope));
  else if constexpr (kIsOfWeft<Scope>)
    return by_abi(run_by<AnyScope>)(call, AnyScope(scope));
  else
    return run_by(call, scope);
}
template <class Scope>
WEFT_DEVICE bool make_ready_generally(const Call& call, const Scope& scope, bool syncs_first,
                                      bool wipes) {
  if constexpr (is_bulk<Scope>)
    return make_ready_generally(call, as_scope(scope), syncs_first, wipes);
  else if constexpr (kIsOfWeft<Scope>)
    return by_abi(make_ready_by<AnyScope>)(call, AnyScope(scope), syncs_first, wipes);
  else
    return make_ready_by(call, scope, syncs_first, wipes);
}

// A sync of a team that is_direct(), by threads in step; false: gave up, or the team has failed.
template <class Scope>
WEFT_DEVICE bool sync_in_step(const DeviceContext& h, const Scope& scope, const Team& team,
                              const char* where) {
  DirectMember<Scope> member(h, scope, team, where);
  member.tell();
  member.read();
  if (member.broken()) {
    if (scope.rank() == 0) refuse_team(h, FaultCode::kTeamBroken, where, team, 0);
    return false;
  }
  scope.sync();                                  // all have read the epoch
  if (scope.rank() == 0) member.put_back(true);  // while the words are under way
  return member.hear();
}

template <class Scope>
WEFT_DEVICE bool sync_direct(const DeviceContext& h, const Scope& scope, const Team& team,
                             const char* where) {
  scope.sync();  // what my other threads did comes before the release
  bool ok = true;
  if constexpr (is_block<Scope>) {  // by one warp, since the others would only be in its way
    const FirstWarp few(static_cast<unsigned>(scope.rank()));
    if (few.has_me()) ok = sync_in_step(h, few, team, where);
  } else {
    ok = sync_in_step(h, scope, team, where);
  }
  return agree(scope, h.heap + team_block_offset(h.teams, team.id), ok);
}

template <class Scope>
WEFT_DEVICE bool PackedPort::make_ready(const Scope& scope, const Team& team, bool syncs_first,
                                        bool wipes) const {
  if (!wipes && is_direct(h_, team)) return sync_direct(h_, scope, team, where_);
  const Call call{h_, team, where_, Routine::kSync, {}};
  return make_ready_generally(call, scope, syncs_first, wipes);
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
