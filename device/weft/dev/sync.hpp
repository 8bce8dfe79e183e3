// fence and quiet.
//
// Direct stores are ordered by the platform's fence, one per thread: a thread's later stores are
// ordered only by a fence of its own, unless the platform says more (kFencesForOthers). Records of
// the ring are ordered by a kFence record, and completed by waiting for the last one. After quiet,
// what I put is visible to whoever looks before I look at anything of theirs, so its fence is a
// full one.
#pragma once

#include <cstdint>

#include <weft/device/context.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/ring.hpp>
#include <weft/dev/scope.hpp>
#include <weft/dev/validate.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace ordering {

WEFT_DEVICE_COLD void fence_used_ring(ByValue<ColdContext> cold, std::uint32_t pe) {
  if (!ring::is_used(cold)) return;
  Op op;
  op.kind = OpKind::kFence;
  op.pe = pe;
  // Stores that follow are not ordered behind an atomic that went by the ring, unless that is
  // complete: so it is when such a fence is taken.
  const bool waits = (cold.flags & kDeviceAtomicsByRing) != 0;
  ring::push_and_wait(cold, "fence", op, waits, ring::IsConsumed{});
}

WEFT_DEVICE_COLD void quiet_used_ring(ByValue<ColdContext> cold) { ring::drain(cold, "quiet"); }

WEFT_DEVICE void fence_ring(const DeviceContext& h, std::uint32_t pe) {
  if ((h.flags & kDeviceRing) != 0) fence_used_ring(h, pe);
}
WEFT_DEVICE void quiet_ring(const DeviceContext& h) {
  if ((h.flags & kDeviceRing) != 0) quiet_used_ring(h);
}

// Some of what goes to the PE whose heap that is goes by the ring.
WEFT_DEVICE bool uses_ring(const DeviceContext& h, const std::byte* heap) {
  return heap == nullptr || (h.flags & kDeviceAtomicsByRing) != 0;
}

// My thread is one that fences for the scope.
template <class Scope>
WEFT_DEVICE bool fences(Scope scope) {
  return !platform::kFencesForOthers || scope.rank() == 0;
}

template <class Scope>
WEFT_DEVICE void fence(const DeviceContext& h, Scope scope) {
  scope.sync();
  if (fences(scope)) platform::fence<Reach::kSystem>();
  if (scope.rank() == 0) fence_ring(h, kAllPes);
  scope.sync();
}

template <class Scope>
WEFT_DEVICE void quiet(const DeviceContext& h, Scope scope) {
  scope.sync();
  if (fences(scope)) platform::full_fence();
  if (scope.rank() == 0) quiet_ring(h);
  scope.sync();
}

}  // namespace ordering

template <class Scope>
WEFT_DEVICE void Context::fence(Scope who) const {
  ordering::fence(h_, known(who));
}

template <class Scope>
WEFT_DEVICE void Context::quiet(Scope who) const {
  ordering::quiet(h_, known(who));
}

WEFT_DEVICE void Context::fence_pe(int pe) const {
  if (!allowed(h_, "fence_pe", h_.heap, 0, 1, pe)) return;
  const std::byte* const heap = heap_of(h_, pe);
  if (heap != nullptr) platform::fence<Reach::kSystem>();
  if (ordering::uses_ring(h_, heap)) ordering::fence_ring(h_, static_cast<std::uint32_t>(pe));
}

WEFT_DEVICE void Context::quiet_pe(int pe) const {
  if (!allowed(h_, "quiet_pe", h_.heap, 0, 1, pe)) return;
  const std::byte* const heap = heap_of(h_, pe);
  if (heap != nullptr) platform::full_fence();
  if (ordering::uses_ring(h_, heap)) ordering::quiet_ring(h_);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
