// Routing: an operation goes to its PE directly, by loads and stores to mapped memory, or by the
// ring to the proxy. A route is found together with the translation and validation of its address.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/signal.hpp>
#include <weft/types.hpp>

#include <weft/dev/address.hpp>
#include <weft/dev/fault.hpp>
#include <weft/dev/journal.hpp>
#include <weft/dev/validate.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// The ring is the route to the PE whose heap that is: there is a ring, and the heap is not mapped.
WEFT_DEVICE bool is_by_ring(ColdContext h, const std::byte* heap) {
  return (h.flags & kDeviceRing) != 0 && heap == nullptr;
}

// The route to an object of a PE: mapped memory, or an offset for the ring; or the call was
// refused.
struct Route {
  std::byte* at = nullptr;
  bool by_ring = false;
  std::uint64_t offset = 0;  // for the ring
  WEFT_DEVICE bool is_refused() const { return at == nullptr && !by_ring; }
};

// kWord writes a word that somebody may wait for. Among atomics kFetch only reads, kAtomic writes.
enum class Access { kBytes, kWord, kFetch, kAtomic };

// An atomic that a transport executes for all PEs, mapped or not.
WEFT_DEVICE bool is_atomic_by_ring(ColdContext h, Access access, std::uint64_t bytes) {
  return (h.flags & kDeviceAtomicsByRing) != 0 && access >= Access::kFetch &&
         bytes == sizeof(std::uint64_t);
}

// All cases of route_of(): one translation serves validation, routing and the journal.
WEFT_DEVICE_CALLED Route find_route(ByValue<ColdContext> h, const char* where,
                                    const void* symmetric, std::uint64_t bytes, std::uint64_t align,
                                    int pe, Access access) {
  const AddressTranslation mine = translate_address(h, symmetric, bytes);
  const bool checks = (h.flags & kDeviceCheck) != 0;
  if (checks || bytes == kTooManyBytes) {
    const FaultCode code = fault_of(h, mine.is_symmetric, symmetric, bytes, align, pe);
    if (code != FaultCode::kNone) {
      report_refused(h, code, where, pe, mine.offset,
                     code == FaultCode::kMisaligned ? align : bytes);
      return {};
    }
  }
  std::byte* const heap = h.state->peer[pe];
  if (is_by_ring(h, heap)) return {nullptr, true, mine.offset};
  // WEFT_CHECK: remembers at the word's owner that I write it.
  const bool writes = access == Access::kWord || access == Access::kAtomic;
  if (checks && writes && h.state->journal_offset != 0)
    journal_note(heap, h.state->journal_offset, mine.offset, h.state->pe);
  if (is_atomic_by_ring(h, access, bytes)) return {nullptr, true, mine.offset};
  if (mine.range == nullptr || mine.range->peer == nullptr) return {heap + mine.offset, false};
  return {mine.range->peer[pe] + (mine.offset - mine.range->offset), false};
}

// The route to `bytes` at `symmetric` of `pe`, which must be aligned to `align`.
WEFT_DEVICE Route route_of(const DeviceContext& h, const char* where, const void* symmetric,
                           std::uint64_t bytes, std::uint64_t align, int pe,
                           Access access = Access::kBytes) {
  if (is_plain(h, symmetric, bytes)) return {moved(symmetric, distance_to(h, pe)), false};
  return find_route(h, where, symmetric, bytes, align, pe, access);
}

// The route to the word of a notify.
WEFT_DEVICE Route route_of(const DeviceContext& h, const char* where, Notify notify, int pe) {
  constexpr std::uint64_t kBytes = sizeof(std::uint64_t);
  return route_of(h, where, notify.signal, kBytes, kBytes, pe, Access::kWord);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
