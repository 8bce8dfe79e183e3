// Arguments of device calls: where what they name lies at a PE; what is verified when WEFT_CHECK=1,
// and the little that always is. A refused call reports a fault and does nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/signal.hpp>
#include <weft/types.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/journal.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// The memory that was adopted which all of [address, address + bytes) lies in; null: none.
WEFT_DEVICE_COLD const AdoptedRange* adopted_range(ByValue<ColdContext> h, const void* address,
                                                   std::uint64_t bytes) {
  // Acquire: pairs with the release of Job::show_adopted.
  const auto count = platform::load<Order::kAcquire, Reach::kSystem>(&h.state->adopted_count);
  WEFT_DEVICE_AS_A_LOOP
  for (std::uint64_t i = 0; i < count; ++i) {
    const AdoptedRange& range = h.state->adopted[i];
    const auto at = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - range.base);
    if (at <= range.bytes && bytes <= range.bytes - at) return &range;
  }
  return nullptr;
}

// kNoHeapOffset unless all of [address, address + bytes) is memory that was adopted.
WEFT_DEVICE_COLD std::uint64_t adopted_offset(ByValue<ColdContext> h, const void* address,
                                              std::uint64_t bytes) {
  const AdoptedRange* const range = adopted_range(h, address, bytes);
  if (range == nullptr) return kNoHeapOffset;
  return range->offset +
         static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - range->base);
}

// Where adopted memory lies at a PE whose heap is mapped; of another address, where that lies from
// the heap.
WEFT_DEVICE_COLD std::byte* adopted_on(ByValue<ColdContext> h, const void* address, std::byte* heap,
                                       int pe) {
  const auto* const mine = static_cast<const std::byte*>(address);
  const AdoptedRange* const range = adopted_range(h, address, 0);
  if (range == nullptr) return heap + (mine - h.state->heap);
  std::byte* const base = range->peer != nullptr ? range->peer[pe] : heap + range->offset;
  return base + (mine - range->base);
}

// Where nothing is to be looked up: pe's copy of what lies in my heap is so many bytes on.
WEFT_DEVICE std::ptrdiff_t distance_to(const DeviceContext& h, int pe) {
  return h.to_first + static_cast<std::ptrdiff_t>(h.stride * static_cast<std::uint32_t>(pe));
}
WEFT_DEVICE std::byte* moved(const void* symmetric, std::ptrdiff_t distance) {
  return static_cast<std::byte*>(const_cast<void*>(symmetric)) + distance;
}

// Where pe's offset 0 is mapped; null: via the ring.
WEFT_DEVICE std::byte* heap_of(const DeviceContext& h, int pe) {
  return h.plain_bytes != 0 ? h.heap + distance_to(h, pe) : h.peer[pe];
}

// Some ring is there, and it is the way to the PE whose heap that is.
WEFT_DEVICE bool is_by_ring(ColdContext h, const std::byte* heap) {
  return (h.flags & kDeviceRing) != 0 && heap == nullptr;
}

// Of an address that is symmetric; of another one, where it lies from the heap.
WEFT_DEVICE std::uint64_t offset_of(const DeviceContext& h, const void* symmetric) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(symmetric) - h.heap);
  if (offset <= h.heap_bytes) return offset;
  const std::uint64_t adopted = adopted_offset(h, symmetric, 0);
  return adopted != kNoHeapOffset ? adopted : offset;
}

// Where what is symmetric lies at `pe`, whose heap is mapped there.
WEFT_DEVICE std::byte* mapped_on(const DeviceContext& h, const void* symmetric, std::byte* heap,
                                 int pe) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(symmetric) - h.heap);
  return offset <= h.heap_bytes ? heap + offset : adopted_on(h, symmetric, heap, pe);
}

WEFT_DEVICE bool is_symmetric(const DeviceContext& h, const void* address, std::uint64_t bytes) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - h.heap);
  if (offset <= h.heap_bytes) return bytes <= h.heap_bytes - offset;
  return adopted_offset(h, address, bytes) != kNoHeapOffset;
}

// Where all of [address, address + bytes) lies.
struct Whereabouts {
  std::uint64_t offset;       // of an address that is not symmetric: where it lies from the heap
  const AdoptedRange* range;  // that it lies in; null: the heap, or nowhere
  bool is_symmetric;          // all of it
};

WEFT_DEVICE Whereabouts whereabouts_of(ColdContext h, const void* address, std::uint64_t bytes) {
  const auto* const mine = static_cast<const std::byte*>(address);
  const auto offset = static_cast<std::uint64_t>(mine - h.state->heap);
  const std::uint64_t heap_bytes = h.state->heap_bytes;
  if (offset <= heap_bytes) return {offset, nullptr, bytes <= heap_bytes - offset};
  const AdoptedRange* const range = adopted_range(h, address, bytes != 0);
  if (range == nullptr) return {offset, nullptr, false};
  const auto at = static_cast<std::uint64_t>(mine - range->base);
  return {range->offset + at, range, bytes <= range->bytes - at};
}

// What is wrong with touching `bytes` at `symmetric` of `pe`, which must be aligned to `align`.
WEFT_DEVICE FaultCode fault_of(ColdContext h, bool is_symmetric, const void* symmetric,
                               std::uint64_t bytes, std::uint64_t align, int pe) {
  if (bytes == kTooManyBytes) return FaultCode::kBadRange;
  if (pe < 0 || pe >= h.state->npes) return FaultCode::kBadPe;
  if (bytes != 0 && !is_symmetric) return FaultCode::kBadRange;
  // Alignments are powers of two; what divides by a number not known is a function of its own.
  if ((reinterpret_cast<std::uintptr_t>(symmetric) & (align - 1)) != 0)
    return FaultCode::kMisaligned;
  return FaultCode::kNone;
}

// `wanted`: bytes, or of what is not aligned the alignment.
WEFT_DEVICE void report_refused(ColdContext h, FaultCode code, const char* where, int pe,
                                std::uint64_t offset, std::uint64_t wanted) {
  Fault fault;
  fault.code = code;
  fault.where = where;
  fault.pe = pe;
  fault.offset = offset;
  fault.wanted = wanted;
  report(h, fault);
}

WEFT_DEVICE_COLD bool refuse(ByValue<ColdContext> h, FaultCode code, const char* where, int pe,
                             const void* address, std::uint64_t bytes) {
  report_refused(h, code, where, pe, whereabouts_of(h, address, 0).offset, bytes);
  return false;
}

WEFT_DEVICE_COLD bool verify(ByValue<ColdContext> h, const char* where, const void* symmetric,
                             std::uint64_t bytes, std::uint64_t align, int pe) {
  const Whereabouts mine = whereabouts_of(h, symmetric, bytes);
  const FaultCode code = fault_of(h, mine.is_symmetric, symmetric, bytes, align, pe);
  if (code == FaultCode::kNone) return true;
  report_refused(h, code, where, pe, mine.offset, code == FaultCode::kMisaligned ? align : bytes);
  return false;
}

// May `where` touch `bytes` at `symmetric` of `pe`, which must be aligned to `align`?
WEFT_DEVICE bool allowed(const DeviceContext& h, const char* where, const void* symmetric,
                         std::uint64_t bytes, std::uint64_t align, int pe) {
  if ((h.flags & kDeviceCheck) == 0 && bytes != kTooManyBytes) return true;
  return verify(h, where, symmetric, bytes, align, pe);
}

// Where what a call names lies at a PE: mapped here, or behind the ring; or the call was refused.
struct Place {
  std::byte* at = nullptr;
  bool by_ring = false;
  std::uint64_t offset = 0;  // behind the ring
  WEFT_DEVICE bool is_refused() const { return at == nullptr && !by_ring; }
};

// kWord: writes a word that somebody may wait for. Atomics: kFetch only looks, kAtomic writes.
enum class Touch { kBytes, kWord, kFetch, kAtomic };

// An atomic that a transport executes for all PEs, mapped or not.
WEFT_DEVICE bool is_atomic_by_ring(ColdContext h, Touch touch, std::uint64_t bytes) {
  return (h.flags & kDeviceAtomicsByRing) != 0 && touch >= Touch::kFetch &&
         bytes == sizeof(std::uint64_t);
}

// All of what place_of() does, and one look for the address serves all of it.
WEFT_DEVICE_CALLED Place find_place(ByValue<ColdContext> h, const char* where,
                                    const void* symmetric, std::uint64_t bytes, std::uint64_t align,
                                    int pe, Touch touch) {
  const Whereabouts mine = whereabouts_of(h, symmetric, bytes);
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
  const bool writes = touch == Touch::kWord || touch == Touch::kAtomic;
  if (checks && writes && h.state->journal_offset != 0)
    journal_note(heap, h.state->journal_offset, mine.offset, h.state->pe);
  if (is_atomic_by_ring(h, touch, bytes)) return {nullptr, true, mine.offset};
  if (mine.range == nullptr || mine.range->peer == nullptr) return {heap + mine.offset, false};
  return {mine.range->peer[pe] + (mine.offset - mine.range->offset), false};
}

// All PEs lie in a row, nothing is to be verified, and the range is the heap's: what every call
// asks first, since it takes a few instructions. The rest is out of line.
WEFT_DEVICE bool is_plain(const DeviceContext& h, const void* symmetric, std::uint64_t bytes) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(symmetric) - h.heap);
  return offset < h.plain_bytes && bytes <= h.plain_bytes - offset;
}

// Of `bytes` at `symmetric` of `pe`, which must be aligned to `align`.
WEFT_DEVICE Place place_of(const DeviceContext& h, const char* where, const void* symmetric,
                           std::uint64_t bytes, std::uint64_t align, int pe,
                           Touch touch = Touch::kBytes) {
  if (is_plain(h, symmetric, bytes)) return {moved(symmetric, distance_to(h, pe)), false};
  return find_place(h, where, symmetric, bytes, align, pe, touch);
}

// Of the word of a notify.
WEFT_DEVICE Place place_of(const DeviceContext& h, const char* where, Notify notify, int pe) {
  constexpr std::uint64_t kBytes = sizeof(std::uint64_t);
  return place_of(h, where, notify.signal, kBytes, kBytes, pe, Touch::kWord);
}

// Bytes from the first to past the last of `count` elements `stride` apart; kTooManyBytes when that
// does not fit or the stride is not positive.
template <class T>
WEFT_DEVICE std::uint64_t span_of(std::size_t count, std::ptrdiff_t stride) {
  if (count == 0) return 0;
  if (stride < 1 || count - 1 > (kTooManyBytes / sizeof(T) - 1) / static_cast<std::size_t>(stride))
    return kTooManyBytes;
  return ((count - 1) * static_cast<std::size_t>(stride) + 1) * sizeof(T);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
