// The Port of team_member.hpp over a kernel's context, and what its waits do that do not end soon.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/context.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/collective_move.hpp>
#include <weft/dev/collective_packed.hpp>
#include <weft/dev/collective_reduce.hpp>
#include <weft/dev/copy.hpp>
#include <weft/dev/direct_member.hpp>
#include <weft/dev/missing.hpp>
#include <weft/dev/notify.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/route.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/routine.hpp>
#include <weft/dev/signal.hpp>
#include <weft/dev/sync.hpp>
#include <weft/dev/team_member.hpp>
#include <weft/dev/validate.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace coll {

WEFT_DEVICE_CALLED void signal_somehow(ByValue<ColdContext> cold, std::uint64_t* word,
                                       std::uint64_t value, int pe) {
  const DeviceContext h = cold;
  const Notify notify = set(word, value);
  const Route there = route_of(h, "signal", notify, pe);
  if (there.at != nullptr)
    notify_directly<Order::kRelease>(there.at, notify);
  else if (there.by_ring)
    signal_by_ring(h, notify, pe);
}

// The rest of a wait for `copy` of `word`, which `pe` sets, that does not end soon.
WEFT_DEVICE_COLD bool wait_on_copy(ByValue<ColdContext> cold, const char* where,
                                   const std::uint64_t* copy, const std::uint64_t* word, int pe,
                                   std::uint64_t value) {
  const auto wanted = waiting::same(copy, 1, nullptr, Cmp::kGe, value);
  return wait_on(
      *cold.state,
      [&](std::uint64_t waited_ns) {
        const auto seen = platform::load<Order::kRelaxed, Reach::kSystem>(copy);
        report_missing(cold, where, {word, pe, seen, value, true}, waited_ns);
      },
      [&] { return wanted.came(0); });
}

// The same for the LL packets of a row, one after the other.
WEFT_DEVICE_COLD bool wait_on_ll(ByValue<ColdContext> cold, const char* where,
                                 const PackedRow& row) {
  WEFT_DEVICE_AS_A_LOOP
  for (int k = 0; k < row.count; ++k) {
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

// The arguments of a call, in memory: the functions below read it where they use it, so that it
// takes no registers.
struct Call {
  DeviceContext h;
  Team team;
  const char* where;
  Routine routine;
  Buffers buffers;
  int root = 0;       // of a broadcast
  Strided strided{};  // of an alltoalls
  ErasedFold fold{};  // of what folds
};

// The Port of team_member.hpp over a kernel's context.
class ContextPort {
 public:
  using Thread = dev::Thread;
  using Passed = const ContextPort&;
  static constexpr bool kPacks = true;
  static constexpr bool kSpansHosts = WEFT_TARGET_CPU != 0;  // GPU memory's teams do not look

  WEFT_DEVICE explicit ContextPort(const Call& call) : call_(call) {}

  WEFT_DEVICE TeamLayout layout() const { return team_layout(h().teams, h().npes); }
  WEFT_DEVICE std::byte* block(int team_id) const {
    return h().heap + team_block_offset(h().teams, team_id);
  }
  template <class T>
  WEFT_DEVICE T* direct(T* mine, int pe) const {
    return reinterpret_cast<T*>(direct_bytes(mine, pe));
  }
  WEFT_DEVICE bool pulls(std::size_t bytes) const { return bytes > h().teams.pushed_bytes; }
  template <class Scope>
  WEFT_DEVICE_CALLED void put(ByValue<Scope> scope, void* dst, const void* src, std::size_t bytes,
                              int pe, ByValue<Notify> notify) const {
    scope.sync();
    std::byte* const word = rma::put_otherwise(h(), {scope.rank(), scope.size()}, dst, src, bytes,
                                               1, pe, notify, rma::Until::kReusable);
    scope.sync();
    if (scope.rank() == 0 && word != nullptr) notify_directly<Order::kRelease>(word, notify);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void get_nbi(ByValue<Scope> scope, void* dst, const void* src,
                                  std::size_t bytes, int pe) const {
    scope.sync();
    rma::get_otherwise(h(), {scope.rank(), scope.size()}, dst, src, bytes, 1, pe,
                       rma::Until::kQuiet);
  }
  WEFT_DEVICE void signal(std::uint64_t* word, std::uint64_t value, int pe) const {
    if (h().plain_bytes == 0) return signal_somehow(h(), word, value, pe);
    notify_directly<Order::kRelease>(moved(word, distance_to(h(), pe)), set(word, value));
  }
  template <class Scope>
  WEFT_DEVICE void count_up(const Scope& scope, const Team& team) const {
    DirectMember<Scope>(h(), scope, team, call_.where).tell();
  }
  template <class Scope>
  WEFT_DEVICE bool hear_counts(const Scope& scope, const Team& team, std::uint64_t epoch) const {
    return DirectMember<Scope>(h(), scope, team, call_.where).hear(epoch);
  }
  WEFT_DEVICE bool wait(const std::uint64_t* word, std::uint64_t value, int pe) const {
    return wait_at(word, word, value, pe);
  }
  WEFT_DEVICE bool wait_there(const std::uint64_t* word, std::uint64_t value, int pe) const {
    return wait_at(direct(word, pe), word, value, pe);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void fence(ByValue<Scope> scope) const {
    ordering::fence(h(), scope);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void quiet(ByValue<Scope> scope) const {
    ordering::quiet(h(), scope);
  }
  template <class Scope>
  WEFT_DEVICE_CALLED void copy(ByValue<Scope> scope, void* dst, const void* src,
                               std::size_t bytes) const {
    copy_slowly({scope.rank(), scope.size()}, static_cast<std::byte*>(dst),
                static_cast<const std::byte*>(src), bytes);
  }
  WEFT_DEVICE bool fits(const void* mine, std::size_t bytes) const {
    if (bytes == 0 || (bytes != kTooManyBytes && is_symmetric(h(), mine, bytes))) return true;
    return refuse(h(), FaultCode::kBadRange, call_.where, h().pe, mine, bytes);
  }

 private:
  WEFT_DEVICE_CALLED std::byte* direct_bytes(const void* mine, int pe) const {
    std::byte* const heap = heap_of(h(), pe);
    return heap == nullptr ? nullptr : mapped_on(h(), mine, heap, pe);
  }
  // `copy` is looked at; a report names the word by where it lies in every heap.
  WEFT_DEVICE bool wait_at(const std::uint64_t* copy, const std::uint64_t* word,
                           std::uint64_t value, int pe) const {
    const auto wanted = waiting::same(copy, 1, nullptr, Cmp::kGe, value);
    return comes_soon([&] { return wanted.came(0); }) ||
           wait_on_copy(h(), call_.where, copy, word, pe, value);
  }
  WEFT_DEVICE const DeviceContext& h() const { return call_.h; }

  const Call& call_;
};

// The Port of packed_member.hpp; it reads the kernel's parameters where they are.
class PackedPort {
 public:
  WEFT_DEVICE PackedPort(const DeviceContext& h, const char* where) : h_(h), where_(where) {}

  WEFT_DEVICE TeamLayout layout() const { return team_layout(h_.teams, h_.npes); }
  WEFT_DEVICE std::byte* block(int team_id) const {
    return h_.heap + team_block_offset(h_.teams, team_id);
  }
  template <class T>
  WEFT_DEVICE T* there(T* in_block, int pe) const {
    const auto offset = reinterpret_cast<const std::byte*>(in_block) - h_.heap;
    return reinterpret_cast<T*>(heap_of(h_, pe) + offset);
  }
  WEFT_DEVICE bool wait_on(const PackedRow& row) const {
    return by_abi(wait_on_ll)(h_, where_,
                              row);  // mutation: equivalent, the caller polls again
  }
  template <class Scope>
  WEFT_DEVICE bool make_ready(const Scope& scope, const Team& team, bool syncs_first,
                              bool wipes) const;

 private:
  const DeviceContext& h_;
  const char* where_;
};

WEFT_DEVICE_COLD void report_team(ByValue<ColdContext> cold, FaultCode code, const char* where,
                                  const Team& team, int root) {
  const DeviceContext h = cold;
  Fault fault;
  fault.code = code;
  fault.where = where;
  fault.pe = h.pe;
  fault.seen = static_cast<std::uint64_t>(root);
  fault.wanted = static_cast<std::uint64_t>(code == FaultCode::kBadRoot ? team.size : team.id);
  report(h, fault);
}
WEFT_DEVICE bool refuse_team(const DeviceContext& h, FaultCode code, const char* where,
                             const Team& team, int root) {
  by_abi(report_team)(h, code, where, Team(team), root);
  return false;
}

}  // namespace coll
}  // namespace WEFT_TARGET
}  // namespace weft::dev
