// Arguments of collectives. Team, root, null, alignment and range are always checked; WEFT_CHECK=1
// adds liveness, overlap, and that every member makes the same call with the same arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/dev/routine.hpp>
#include <weft/dev/team_member.hpp>
#include <weft/status.hpp>
#include <weft/team.hpp>

#include "host/collective/context_port.hpp"

namespace weft {

const char* to_string(Routine routine);

// The call that a member is about to make. Fields that must be equal on all are sent as they stand.
struct CollectiveCall {
  Routine routine = Routine::kSync;
  std::uint32_t detail = 0;  // root; element and operator; 0
  std::uint64_t dst = 0;     // heap offsets
  std::uint64_t src = 0;     // 0 where it may differ
  std::uint64_t bytes = 0;   // per block; 0 where it may differ
  std::uint64_t strides[2] = {0, 0};
};
static_assert(sizeof(CollectiveCall) <= kCacheLine - kSlotHeader, "fits the smallest slot");

// The checks' short ways are here: they are part of what a collective of 8 bytes costs.
namespace slow {
Status check_member(const Context::Impl& c, const char* routine, const Team& team);
Status check_blocks(const Context::Impl& c, const char* routine, const char* argument,
                    const void* address, std::size_t bytes, int times, std::size_t align);
Status check_apart(const char* routine, const void* dst, std::size_t dst_bytes, const void* src,
                   std::size_t src_bytes, bool in_place);
}  // namespace slow

inline Status check_member(const Context::Impl& c, const char* routine, const Team& team) {
  const bool exists =
      team.id >= 0 && team.id < c.job->teams.count && team.size >= 1 && team.size <= c.npes;
  if (exists && team.is_member() && team.pe_of(team.rank) == c.pe) [[likely]]
    return Status::ok();
  return slow::check_member(c, routine, team);
}
Status check_root(const char* routine, const Team& team, int root);
// `times` blocks of `bytes`, aligned to `align`, in my heap. Null is fine for nothing.
inline Status check_blocks(const Context::Impl& c, const char* routine, const char* argument,
                           const void* address, std::size_t bytes, int times, std::size_t align) {
  std::size_t all = 0;
  if (!c.checks && !__builtin_mul_overflow(bytes, static_cast<std::size_t>(times), &all) &&
      reinterpret_cast<std::uintptr_t>(address) % align == 0 &&
      c.heap->try_offset(address, all) != Heap::kNoOffset) [[likely]]
    return Status::ok();
  return slow::check_blocks(c, routine, argument, address, bytes, times, align);
}
// WEFT_CHECK: [dst, +dst_bytes) and [src, +src_bytes) are apart, or the same if `in_place`.
inline Status check_apart(const Context::Impl& c, const char* routine, const void* dst,
                          std::size_t dst_bytes, const void* src, std::size_t src_bytes,
                          bool in_place) {
  if (!c.checks) [[likely]]
    return Status::ok();
  return slow::check_apart(routine, dst, dst_bytes, src, src_bytes, in_place);
}

using HostMember = dev::TeamMember<ContextPort, HostThread>;
// WEFT_CHECK: an exchange of what everybody is about to do. Unless all are equal, everybody differs
// from somebody: so all members fail, and stay in step. False when a wait failed.
bool exchange_calls(HostMember& m, const CollectiveCall& mine, Status* verdict);

}  // namespace weft
