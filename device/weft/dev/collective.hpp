// Collectives in kernels: the algorithms (team_member.hpp, collective_move.hpp,
// collective_reduce.hpp) over dev::Context.
//
// Order. Everything a member tells another goes by one put with a notify, or by a signal that is a
// notify without bytes: a release, paired with the acquire of the wait below. Where a message is
// made of several puts, fence(scope) stands before the signal that tells of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/collective.hpp>
#include <weft/device/context.hpp>

#include <weft/dev/check.hpp>
#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_packed.hpp>
#include <weft/dev/collective_reduce.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/missing.hpp>
#include <weft/dev/notify.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/signal.hpp>
#include <weft/dev/sync.hpp>
#include <weft/dev/team_member.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

WEFT_DEVICE_CALLED void signal_somehow(ColdContext cold, std::uint64_t* word, std::uint64_t value,
                                       int pe) {
  const DeviceContext h = cold;
  const Notify notify = set(word, value);
  const Place there = place_of(h, "signal", notify, pe);
  if (there.at != nullptr)
    notify_directly<Order::kRelease>(there.at, notify);
  else if (there.by_ring)
    signal_by_ring(h, notify, pe);
}

// The rest of a wait for `copy` of `word`, which `pe` sets, that does not end soon.
WEFT_DEVICE_COLD bool wait_on_copy(ColdContext cold, const char* where, const std::uint64_t* copy,
                                   const std::uint64_t* word, int pe, std::uint64_t value) {
  const auto wanted = waiting::same(copy, 1, nullptr, Cmp::kGe, value);
  return wait_on(
      *cold.state,
      [&](std::uint64_t waited_ns) {
        const auto seen = platform::load<Order::kRelaxed, Reach::kSystem>(copy);
        report_missing(cold, where, {word, pe, seen, value, true}, waited_ns);
      },
      [&] { return wanted.came(0); });
}

// The same for the packets of a row, one after the other.
WEFT_DEVICE_COLD bool wait_on_packets(ColdContext cold, const char* where, PackedRow row) {
  WEFT_DEVICE_AS_A_LOOP
  for (int k = 0; k < row.count; ++k) {
    if (k == row.without) continue;
    const std::uint64_t* const words = row.words(k);
    const bool came = wait_on(  // mutation: equivalent, the caller polls again
        *cold.state,
        [&](std::uint64_t waited_ns) {
          const std::uint64_t seen = platform::load_pair(words).first >> 32;
          report_missing(cold, where, {words, row.pe(k), seen, row.flag, true}, waited_ns);
        },
        [&] { return has_flag(platform::load_pair(words), row.flag); });
    if (!came) return false;
  }
  return true;
}

// The Port of team_member.hpp over a kernel's context.
class ContextPort {
 public:
  using Thread = dev::Thread;
  using Passed = ContextPort;
  static constexpr bool kPacks = true;
  static constexpr bool kSpansHosts = WEFT_TARGET_CPU != 0;  // GPU memory's teams do not look

  WEFT_DEVICE ContextPort(const Context& ctx, const char* where) : ctx_(ctx), where_(where) {}

  WEFT_DEVICE TeamLayout layout() const { return team_layout(h().teams, h().npes); }
  WEFT_DEVICE std::byte* block(int team_id) const {
    return h().heap + team_block_offset(h().teams, team_id);
  }
  template <class T>
  WEFT_DEVICE T* direct(T* mine, int pe) const {
    return ctx_.ptr(mine, pe);
  }
  WEFT_DEVICE bool pulls(std::size_t bytes) const { return bytes > h().teams.pushed_bytes; }
  template <class Scope>
  WEFT_DEVICE_CALLED void put(Scope scope, void* dst, const void* src, std::size_t bytes, int pe,
                              Notify notify) const {
    ctx_.put(scope, static_cast<std::byte*>(dst), static_cast<const std::byte*>(src), bytes, pe,
             notify);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void get_nbi(Scope scope, void* dst, const void* src, std::size_t bytes,
                                  int pe) const {
    ctx_.get_nbi(scope, static_cast<std::byte*>(dst), static_cast<const std::byte*>(src), bytes,
                 pe);
  }
  WEFT_DEVICE void signal(std::uint64_t* word, std::uint64_t value, int pe) const {
    if (h().plain_bytes == 0) return signal_somehow(h(), word, value, pe);
    notify_directly<Order::kRelease>(moved(word, distance_to(h(), pe)), set(word, value));
  }
  WEFT_DEVICE void count_up(std::uint64_t* word, int pe) const {
    platform::add<Order::kRelease, Reach::kSystem>(there(word, pe), std::uint64_t{1});
  }
  WEFT_DEVICE bool wait(const std::uint64_t* word, std::uint64_t value, int pe) const {
    return wait_at(word, word, value, pe);
  }
  WEFT_DEVICE bool wait_there(const std::uint64_t* word, std::uint64_t value, int pe) const {
    return wait_at(direct(word, pe), word, value, pe);
  }
  WEFT_DEVICE bool wait_on(const PackedRow& row) const {
    return wait_on_packets(h(), where_, row);  // mutation: equivalent, the caller polls again
  }
  template <class T>
  WEFT_DEVICE T* there(T* in_block, int pe) const {
    const auto offset = reinterpret_cast<const std::byte*>(in_block) - h().heap;
    return reinterpret_cast<T*>(heap_of(h(), pe) + offset);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void fence(Scope scope) const {
    ctx_.fence(scope);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void quiet(Scope scope) const {
    ctx_.quiet(scope);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void copy(Scope scope, void* dst, const void* src, std::size_t bytes) const {
    dev::copy(scope, static_cast<std::byte*>(dst), static_cast<const std::byte*>(src), bytes);
  }
  WEFT_DEVICE bool fits(const void* mine, std::size_t bytes) const {
    if (bytes == 0 || (bytes != kTooManyBytes && is_symmetric(h(), mine, bytes))) return true;
    return refuse(h(), FaultCode::kBadRange, where_, h().pe, mine, bytes);
  }

 private:
  // `copy` is looked at; a report names the word by where it lies in every heap.
  WEFT_DEVICE bool wait_at(const std::uint64_t* copy, const std::uint64_t* word,
                           std::uint64_t value, int pe) const {
    const auto wanted = waiting::same(copy, 1, nullptr, Cmp::kGe, value);
    return comes_soon([&] { return wanted.came(0); }) ||
           wait_on_copy(h(), where_, copy, word, pe, value);
  }
  WEFT_DEVICE const DeviceContext& h() const { return ctx_.handle(); }

  const Context ctx_;
  const char* where_;
};

WEFT_DEVICE_COLD bool refuse_team(ColdContext cold, FaultCode code, const char* where, Team team,
                                  int root) {
  const DeviceContext h = cold;
  Fault fault;
  fault.code = code;
  fault.where = where;
  fault.pe = h.pe;
  fault.seen = static_cast<std::uint64_t>(root);
  fault.wanted = static_cast<std::uint64_t>(code == FaultCode::kBadRoot ? team.size : team.id);
  report(h, fault);
  return false;
}

// `body(member)` after the checks that every collective makes. It is not inlined, and takes values:
// what a reference points to lies in memory, also for the callers that never come here.
template <class Scope, class Body>
WEFT_DEVICE_CALLED bool run_body(DeviceContext h, Scope scope, Team team, const char* where,
                                 Body body) {
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  ContextPort port(Context(h), where);
  TeamMember<ContextPort, Scope> member(port, scope, team);
  if (!member.broken()) return member.finish(body(member));
  if (scope.rank() == 0) refuse_team(h, FaultCode::kTeamBroken, where, team, 0);
  return member.finish(false);
}

template <class Scope, class Body>
WEFT_DEVICE bool run(const Context& ctx, Scope scope, const Team& team, const char* where,
                     Body body) {
  return run_body(ctx.handle(), ctx.known(scope), team, where, body);
}

// The same of a call whose messages are of `bytes`: packed(member) where these go packed.
template <class Scope, class Packed, class Body>
WEFT_DEVICE bool run(const Context& ctx, Scope scope, const Team& team, const char* where,
                     std::size_t bytes, Packed packed, Body body) {
  const DeviceContext& h = ctx.handle();
  const ContextPort port(ctx, where);
  if (!port.layout().packs(bytes)) return run(ctx, scope, team, where, body);
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  const auto known = ctx.known(scope);
  PackedMember<ContextPort, decltype(ctx.known(scope))> member(port, known, team);
  if (!member.broken()) return packed(member);
  if (scope.rank() == 0) refuse_team(h, FaultCode::kTeamBroken, where, team, 0);
  return member.finish(false, false);
}

template <class Scope>
WEFT_DEVICE bool meet(const Context& ctx, Scope scope, const Team& team, const char* where) {
  const DeviceContext& h = ctx.handle();
  if (!team.is_member()) return refuse_team(h, FaultCode::kNotMember, where, team, 0);
  ContextPort port(ctx, where);
  const auto known = ctx.known(scope);
  return dev::meet(port, known, team,
                   [&] { refuse_team(h, FaultCode::kTeamBroken, where, team, 0); });
}

WEFT_HOST_DEVICE std::size_t bytes_times(std::size_t bytes, int times) {
  const auto n = static_cast<std::size_t>(times);
  return n != 0 && bytes > kTooManyBytes / n ? kTooManyBytes : bytes * n;
}

// Always checked, unlike the arguments of a put: next to a collective it costs nothing.
template <class T>
WEFT_DEVICE bool is_there(const Context& ctx, const char* where, const T* elements,
                          std::size_t bytes) {
  const DeviceContext& h = ctx.handle();
  if (is_plain(h, elements, bytes)) return true;
  if (bytes == kTooManyBytes) return refuse(h, FaultCode::kBadRange, where, h.pe, elements, bytes);
  return verify(h, where, elements, bytes, alignof(T), h.pe);
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

// A reduce or reducescatter of `count` elements: packed, or body(member).
template <class Scope, class Fold, class Body>
WEFT_DEVICE bool run_fold(const Context& ctx, Scope scope, const Team& team, Folding what,
                          std::byte* dst, const std::byte* src, std::size_t count, const Fold& fold,
                          Body body) {
  const char* const where = what == Folding::kReduce ? "reduce" : "reducescatter";
  const auto packed = [&](auto& m) { return fold_packed(m, what, dst, src, count, fold); };
  if constexpr (Fold::kPacks)
    return run(ctx, scope, team, where, count * fold.element, packed, body);
  else
    return run(ctx, scope, team, where, body);
}

}  // namespace coll

template <class Scope>
WEFT_DEVICE bool sync(const Context& ctx, Scope scope, const Team& team) {
  return coll::meet(ctx, scope, team, "sync");
}

template <class Scope>
WEFT_DEVICE bool barrier(const Context& ctx, Scope scope, const Team& team) {
  // Stores to mapped peers need no more than the sync: its signals release them. What went by the
  // ring must be complete.
  if ((ctx.handle().flags & kDeviceRing) != 0) {
    scope.sync();
    if (ctx.known(scope).rank() == 0) ordering::quiet_ring(ctx.handle());
  }
  return coll::meet(ctx, scope, team, "barrier");
}

template <class Scope, class T>
WEFT_DEVICE bool broadcast(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                           std::size_t count, int root) {
  static_assert(is_rma_type<T>, "broadcast moves trivially copyable types");
  if (root < 0 || root >= team.size)
    return coll::refuse_team(ctx.handle(), FaultCode::kBadRoot, "broadcast", team, root);
  // All look at src, though the root alone reads it: what is wrong is refused by all or by none.
  if (!coll::are_there(ctx, "broadcast", dst, 1, src, 1, count)) return false;
  const std::size_t bytes = count * sizeof(T);
  std::byte* const to = coll::bytes_at(dst);
  const std::byte* const from = coll::bytes_at(src);
  return coll::run(
      ctx, scope, team, "broadcast", bytes,
      [=](auto& m) { return coll::broadcast_packed(m, to, from, bytes, root); },
      [=](auto& m) { return coll::broadcast(m, to, from, bytes, root); });
}

template <class Scope, class T>
WEFT_DEVICE bool fcollect(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                          std::size_t count) {
  static_assert(is_rma_type<T>, "fcollect moves trivially copyable types");
  if (!coll::are_there(ctx, "fcollect", dst, team.size, src, 1, count)) return false;
  const std::size_t bytes = count * sizeof(T);
  std::byte* const to = coll::bytes_at(dst);
  const std::byte* const from = coll::bytes_at(src);
  return coll::run(
      ctx, scope, team, "fcollect", bytes,
      [=](auto& m) { return coll::fcollect_packed(m, to, from, bytes); },
      [=](auto& m) { return coll::fcollect(m, to, from, bytes); });
}

template <class Scope, class T>
WEFT_DEVICE bool collect(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                         std::size_t count) {
  static_assert(is_rma_type<T>, "collect moves trivially copyable types");
  // What is wrong may depend on my count. Who finds something wrong takes part with a size that
  // fits nowhere, and all refuse.
  const bool good = coll::are_there(ctx, "collect", dst, 1, src, 1, count);
  const std::size_t bytes = good ? count * sizeof(T) : kTooManyBytes;
  return coll::run(ctx, scope, team, "collect", [=](auto& m) {
    return coll::collect(m, coll::bytes_at(dst), coll::bytes_at(src), bytes);
  });
}

template <class Scope, class T>
WEFT_DEVICE bool alltoall(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                          std::size_t count) {
  static_assert(is_rma_type<T>, "alltoall moves trivially copyable types");
  if (!coll::are_there(ctx, "alltoall", dst, team.size, src, team.size, count)) return false;
  const std::size_t bytes = count * sizeof(T);
  std::byte* const to = coll::bytes_at(dst);
  const std::byte* const from = coll::bytes_at(src);
  return coll::run(
      ctx, scope, team, "alltoall", bytes,
      [=](auto& m) { return coll::alltoall_packed(m, to, from, bytes); },
      [=](auto& m) { return coll::alltoall(m, to, from, bytes); });
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
  return coll::run(ctx, scope, team, "alltoalls", [=](auto& m) {
    return coll::alltoalls(m, coll::bytes_at(dst), coll::bytes_at(src),
                           static_cast<std::size_t>(dst_stride) * sizeof(T),
                           static_cast<std::size_t>(src_stride) * sizeof(T), sizeof(T), count);
  });
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool reduce(const Context& ctx, Scope scope, const Team& team, T* dst, const T* src,
                        std::size_t count) {
  if (!coll::are_there(ctx, "reduce", dst, 1, src, 1, count)) return false;
  using Fold = coll::ElementFold<T, kOp>;
  std::byte* const to = coll::bytes_at(dst);
  const std::byte* const from = coll::bytes_at(src);
  return coll::run_fold(ctx, scope, team, Folding::kReduce, to, from, count, Fold{},
                        [=](auto& m) { return coll::reduce(m, to, from, count, Fold{}); });
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool reducescatter(const Context& ctx, Scope scope, const Team& team, T* dst,
                               const T* src, std::size_t count) {
  if (!coll::are_there(ctx, "reducescatter", dst, 1, src, team.size, count)) return false;
  using Fold = coll::ElementFold<T, kOp>;
  std::byte* const to = coll::bytes_at(dst);
  const std::byte* const from = coll::bytes_at(src);
  return coll::run_fold(ctx, scope, team, Folding::kReduceScatter, to, from, count, Fold{},
                        [=](auto& m) { return coll::reducescatter(m, to, from, count, Fold{}); });
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool scan_inclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::size_t count) {
  if (!coll::are_there(ctx, "scan_inclusive", dst, 1, src, 1, count)) return false;
  return coll::run(ctx, scope, team, "scan_inclusive", [=](auto& m) {
    return coll::scan(m, coll::bytes_at(dst), coll::bytes_at(src), count,
                      coll::ElementFold<T, kOp>{}, true);
  });
}

template <ReduceOp kOp, class Scope, class T>
WEFT_DEVICE bool scan_exclusive(const Context& ctx, Scope scope, const Team& team, T* dst,
                                const T* src, std::size_t count) {
  if (!coll::are_there(ctx, "scan_exclusive", dst, 1, src, 1, count)) return false;
  return coll::run(ctx, scope, team, "scan_exclusive", [=](auto& m) {
    return coll::scan(m, coll::bytes_at(dst), coll::bytes_at(src), count,
                      coll::ElementFold<T, kOp>{}, false);
  });
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
