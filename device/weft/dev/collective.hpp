// Collectives in kernels: the algorithms (team_member.hpp, collective_move.hpp,
// collective_reduce.hpp) over dev::Context.
//
// Order. Everything a member tells another goes by one put with a notify, or by a signal that is a
// notify without bytes: a release, paired with the acquire of the wait below. Where a message is
// made of several puts, fence(scope) stands before the signal that tells of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/device/collective.hpp>
#include <weft/device/context.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/collective_direct.hpp>
#include <weft/dev/collective_general.hpp>
#include <weft/dev/collective_packed.hpp>
#include <weft/dev/collective_port.hpp>
#include <weft/dev/direct_member.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/sync.hpp>
#include <weft/dev/validate.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

template <class Scope, class Packed>
WEFT_DEVICE bool run_packed(const DeviceContext& h, const Scope& scope, const Team& team,
                            const char* where, const Buffers& buffers, const Packed& packed) {
  const PackedPort port(h, where);
  PackedMember<PackedPort, Scope> member(port, scope, team);
  if (!member.broken()) return packed(member, buffers);
  if (scope.rank() == 0) refuse_team(h, FaultCode::kTeamBroken, where, team, 0);
  return member.finish(false, false);
}

// A packed message costs twice its bytes, and a look for each unit, where others cost a barrier. So
// the fewer threads share it, the smaller is the largest. By the scope: all members' are the same.
template <class Scope>
inline constexpr std::size_t kMostPacked = kMostPackedBytes;
template <>
inline constexpr std::size_t kMostPacked<Thread> = 64;
template <>
inline constexpr std::size_t kMostPacked<Warp> = 2048;
// The messages of a broadcast come from one member, so there are fewer polls. A thread that is the
// root of more than two members sends each LL packet to all of them; directly it stores half the
// bytes.
template <class Scope>
WEFT_DEVICE std::size_t most_packed_broadcast(int members) {
  if constexpr (std::is_same_v<Scope, Thread>) return members > 2 ? kMostPacked<Thread> : 256;
  return std::is_same_v<Scope, Warp> ? 4096 : kMostPacked<Scope>;
}

// Runs a call in the quickest way that it may take: packed(member, buffers); where the
// members of few map one another, direct(member, buffers), of more than `most_packed` bytes if it
// `may_be_direct`; and run_generally().
template <class Scope, class Packed, class Direct>
WEFT_DEVICE bool run(const Context& ctx, Scope scope, const Team& team, const char* where,
                     const Buffers& buffers, std::size_t most_packed, bool may_be_direct,
                     Packed packed, Direct direct, Routine routine, int root,
                     const ErasedFold& fold) {
  const DeviceContext& h = ctx.handle();
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  const auto known = ctx.known(scope);
  const bool is_direct_too = may_be_direct && buffers.bytes != 0 && is_direct(h, team);
  const TeamLayout layout = team_layout(h.teams, h.npes);
  const bool is_small = buffers.bytes <= most_packed;
  if ((layout.packs(buffers.bytes) && (is_small || !is_direct_too)) ||
      (routine == Routine::kBroadcast && is_small && layout.packs_of_one(buffers.bytes)))
    return run_packed(h, known, team, where, buffers, packed);
  if (is_direct_too) {
    DirectMember<decltype(ctx.known(scope))> member(h, known, team, where);
    if (direct(member, buffers)) return true;
    if (member.broken() && known.rank() == 0)
      refuse_team(h, FaultCode::kTeamBroken, where, team, 0);
    return false;
  }
  const Call call{h, team, where, routine, buffers, root, {}, fold};
  return run_generally(call, known);
}

// The same of what has no quicker way.
template <class Scope>
WEFT_DEVICE bool run(const Context& ctx, Scope scope, const Team& team, const char* where,
                     Routine routine, const Buffers& buffers, const Strided& strided,
                     const ErasedFold& fold) {
  const DeviceContext& h = ctx.handle();
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  const Call call{h, team, where, routine, buffers, 0, strided, fold};
  return run_generally(call, ctx.known(scope));
}

// body(member), of kernels that are nothing else: host/kernel.
template <class Scope, class Body>
WEFT_DEVICE bool run(const Context& ctx, Scope scope, const Team& team, const char* where,
                     Body body) {
  const DeviceContext& h = ctx.handle();
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  const Call call{h, team, where, Routine::kSync, {}};
  ContextPort port(call);
  const auto known = ctx.known(scope);
  TeamMember<ContextPort, decltype(ctx.known(scope))> member(port, known, team);
  if (!member.broken()) return member.finish(body(member));
  if (known.rank() == 0) refuse_team(h, FaultCode::kTeamBroken, where, team, 0);
  return member.finish(false);
}
// The same, or packed(member, buffers) where a message packs.
template <class Scope, class Packed, class Body>
WEFT_DEVICE bool run(const Context& ctx, Scope scope, const Team& team, const char* where,
                     const Buffers& buffers, Packed packed, Body body) {
  const DeviceContext& h = ctx.handle();
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  if (team_layout(h.teams, h.npes).packs(buffers.bytes))
    return run_packed(h, ctx.known(scope), team, where, buffers, packed);
  return run(ctx, scope, team, where, body);
}

template <class Scope>
WEFT_DEVICE bool sync_members(const Context& ctx, Scope scope, const Team& team,
                              const char* where) {
  const DeviceContext& h = ctx.handle();
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  const auto known = ctx.known(scope);
  if (!is_direct(h, team)) {
    const Call call{h, team, where, Routine::kSync, {}};
    return run_generally(call, known);
  }
  return sync_direct(h, known, team, where);
}

// Without a division, which takes a GPU as long as a small message.
WEFT_HOST_DEVICE std::size_t bytes_times(std::size_t bytes, int times) {
  const auto n = static_cast<std::uint32_t>(times);
  const std::uint64_t low = (bytes & 0xffffffffu) * std::uint64_t{n};
  const std::uint64_t high = (bytes >> 32) * std::uint64_t{n} + (low >> 32);
  return high >> 32 != 0 ? kTooManyBytes : bytes * n;
}

// Always checked, unlike the arguments of a put: next to a collective it costs nothing.
template <class T>
WEFT_DEVICE bool is_there(const Context& ctx, const char* where, const T* elements,
                          std::size_t bytes) {
  const DeviceContext& h = ctx.handle();
  if (is_plain(h, elements, bytes)) return true;
  if (bytes == kTooManyBytes)
    return by_abi(refuse)(h, FaultCode::kBadRange, where, h.pe, elements, bytes);
  return by_abi(verify)(h, where, elements, bytes, alignof(T), h.pe);
}

// `dst_times` and `src_times` blocks of `count` elements are in my heap.
template <class T>
WEFT_DEVICE bool are_there(const Context& ctx, const char* where, const T* dst, int dst_times,
                           const T* src, int src_times, std::size_t count) {
  const std::size_t bytes = bytes_of<T>(count);
  return is_there(ctx, where, dst, bytes_times(bytes, dst_times)) &&
         is_there(ctx, where, src, bytes_times(bytes, src_times));
}

template <class T>
WEFT_DEVICE std::byte* bytes_at(T* elements) {
  return reinterpret_cast<std::byte*>(elements);
}
template <class T>
WEFT_DEVICE const std::byte* bytes_at(const T* elements) {
  return reinterpret_cast<const std::byte*>(elements);
}

template <class T>
WEFT_DEVICE Buffers buffers_of(T* dst, const T* src, std::size_t count) {
  return {bytes_at(dst), bytes_at(src), count * sizeof(T)};
}

// A reduce or reducescatter of `count` elements.
template <class Fold, class Scope>
WEFT_DEVICE bool run_fold(const Context& ctx, Scope scope, const Team& team, Folding what,
                          std::byte* dst, const std::byte* src, std::size_t count) {
  const bool for_all = what == Folding::kReduce;
  const char* const where = for_all ? "reduce" : "reducescatter";
  const Routine routine = for_all ? Routine::kReduce : Routine::kReduceScatter;
  const Buffers buffers{dst, src, count * Fold::element};
  if constexpr (Fold::kPacks) {
    const auto packed = [what](auto& m, const auto& b) { return fold_packed(m, what, b, Fold{}); };
    const auto direct = [what](auto& m, const auto& b) { return fold_direct(m, what, b, Fold{}); };
    // In place a reducescatter would store over what others have yet to read.
    const bool stays = for_all || dst != src;
    return run(ctx, scope, team, where, buffers, kMostPacked<Scope>, stays, packed, direct, routine,
               0, erased(Fold{}));
  } else {
    return run(ctx, scope, team, where, routine, buffers, {}, erased(Fold{}));
  }
}

}  // namespace coll

template <class Scope>
WEFT_DEVICE bool sync(const Context& ctx, Scope scope, const Team& team) {
  return coll::sync_members(ctx, scope, team, "sync");
}

template <class Scope>
WEFT_DEVICE bool barrier(const Context& ctx, Scope scope, const Team& team) {
  // Stores to mapped peers need no more than the sync: its signals release them. Operations that
  // went by the ring must be complete.
  if ((ctx.handle().flags & kDeviceRing) != 0) {
    scope.sync();
    if (ctx.known(scope).rank() == 0) ordering::quiet_ring(ctx.handle());
  }
  return coll::sync_members(ctx, scope, team, "barrier");
}

template <class Scope, class T>
WEFT_DEVICE bool broadcast(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                           std::size_t count, int root) {
  static_assert(is_rma_type<T>, "broadcast moves trivially copyable types");
  if (root < 0 || root >= team.size)
    return coll::refuse_team(ctx.handle(), FaultCode::kBadRoot, "broadcast", team, root);
  // All look at src, though the root alone reads it: what is wrong is refused by all or by none.
  if (!coll::are_there(ctx, "broadcast", dst, 1, src, 1, count)) return false;
  return coll::run(
      ctx, scope, team, "broadcast", coll::buffers_of(dst, src, count),
      coll::most_packed_broadcast<Scope>(team.size), true,
      [root](auto& m, const auto& b) { return coll::broadcast_packed(m, b, root); },
      [root](auto& m, const auto& b) { return coll::broadcast_direct(m, b, root); },
      Routine::kBroadcast, root, {});
}

template <class Scope, class T>
WEFT_DEVICE bool fcollect(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                          std::size_t count) {
  static_assert(is_rma_type<T>, "fcollect moves trivially copyable types");
  if (!coll::are_there(ctx, "fcollect", dst, team.size, src, 1, count)) return false;
  return coll::run(
      ctx, scope, team, "fcollect", coll::buffers_of(dst, src, count), coll::kMostPacked<Scope>,
      true, [](auto& m, const auto& b) { return coll::fcollect_packed(m, b); },
      [](auto& m, const auto& b) { return coll::fcollect_direct(m, b); }, Routine::kFcollect, 0,
      {});
}

template <class Scope, class T>
WEFT_DEVICE bool collect(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                         std::size_t count) {
  static_assert(is_rma_type<T>, "collect moves trivially copyable types");
  // A fault may depend on my count. A member that finds one takes part with a size that fits
  // nowhere, and all refuse.
  const bool good = coll::are_there(ctx, "collect", dst, 1, src, 1, count);
  return coll::run(
      ctx, scope, team, "collect", Routine::kCollect,
      {coll::bytes_at(dst), coll::bytes_at(src), good ? count * sizeof(T) : kTooManyBytes}, {}, {});
}

template <class Scope, class T>
WEFT_DEVICE bool alltoall(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                          std::size_t count) {
  static_assert(is_rma_type<T>, "alltoall moves trivially copyable types");
  if (!coll::are_there(ctx, "alltoall", dst, team.size, src, team.size, count)) return false;
  return coll::run(
      ctx, scope, team, "alltoall", coll::buffers_of(dst, src, count), coll::kMostPacked<Scope>,
      true, [](auto& m, const auto& b) { return coll::alltoall_packed(m, b); },
      [](auto& m, const auto& b) { return coll::alltoall_direct(m, b); }, Routine::kAlltoall, 0,
      {});
}

template <class Scope, class T>
WEFT_DEVICE bool alltoalls(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                           std::ptrdiff_t dst_stride, std::ptrdiff_t src_stride,
                           std::size_t count) {
  static_assert(is_rma_type<T>, "alltoalls moves trivially copyable types");
  // The last block ends with its last element, not with a whole stride.
  const std::size_t all = coll::bytes_times(count, team.size);
  if (!coll::is_there(ctx, "alltoalls", dst, span_of<T>(all, dst_stride)) ||
      !coll::is_there(ctx, "alltoalls", src, span_of<T>(all, src_stride)))
    return false;
  return coll::run(
      ctx, scope, team, "alltoalls", Routine::kAlltoalls, {},
      {coll::bytes_at(dst), coll::bytes_at(src), static_cast<std::size_t>(dst_stride) * sizeof(T),
       static_cast<std::size_t>(src_stride) * sizeof(T), sizeof(T), count},
      {});
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool reduce(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                        std::size_t count) {
  if (!coll::are_there(ctx, "reduce", dst, 1, src, 1, count)) return false;
  return coll::run_fold<coll::ElementFold<T, kOp>>(ctx, scope, team, Folding::kReduce,
                                                   coll::bytes_at(dst), coll::bytes_at(src), count);
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool reducescatter(const Context& ctx, Scope scope, const Team& team, T* dst,
                               const T* src, std::size_t count) {
  if (!coll::are_there(ctx, "reducescatter", dst, 1, src, team.size, count)) return false;
  return coll::run_fold<coll::ElementFold<T, kOp>>(ctx, scope, team, Folding::kReduceScatter,
                                                   coll::bytes_at(dst), coll::bytes_at(src), count);
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool scan_inclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::size_t count) {
  if (!coll::are_there(ctx, "scan_inclusive", dst, 1, src, 1, count)) return false;
  return coll::run(ctx, scope, team, "scan_inclusive", Routine::kScanInclusive,
                   coll::buffers_of(dst, src, count), {},
                   coll::erased(coll::ElementFold<T, kOp>{}));
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool scan_exclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::size_t count) {
  if (!coll::are_there(ctx, "scan_exclusive", dst, 1, src, 1, count)) return false;
  return coll::run(ctx, scope, team, "scan_exclusive", Routine::kScanExclusive,
                   coll::buffers_of(dst, src, count), {},
                   coll::erased(coll::ElementFold<T, kOp>{}));
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
