// Address translation: a symmetric address of this PE becomes its offset, or where the same object
// is mapped of a peer. The heap comes first; memory that was adopted is looked up in a table.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>

#include <weft/dev/fault.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/state.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

// A plain heap needs no table: pe's copy of an object lies this many bytes after mine.
WEFT_DEVICE std::ptrdiff_t distance_to(const DeviceContext& h, int pe) {
  return h.to_first + static_cast<std::ptrdiff_t>(h.stride * static_cast<std::uint32_t>(pe));
}
WEFT_DEVICE std::byte* moved(const void* symmetric, std::ptrdiff_t distance) {
  return static_cast<std::byte*>(const_cast<void*>(symmetric)) + distance;
}

// The address at which pe's heap is mapped here; null: it is not, and the ring leads there.
WEFT_DEVICE std::byte* heap_of(const DeviceContext& h, int pe) {
  return h.plain_bytes != 0 ? h.heap + distance_to(h, pe) : h.peer[pe];
}

// The fast path of every call, a few instructions: all PEs lie in a row, nothing is to be verified,
// and the range is the heap's. The rest is out of line.
WEFT_DEVICE bool is_plain(const DeviceContext& h, const void* symmetric, std::uint64_t bytes) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(symmetric) - h.heap);
  return offset < h.plain_bytes && bytes <= h.plain_bytes - offset;
}

// The adopted memory in which all of [address, address + bytes) lies; null: none.
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

// The offset of adopted memory; kNoHeapOffset unless all of [address, address + bytes) is such.
WEFT_DEVICE_COLD std::uint64_t adopted_offset(ByValue<ColdContext> h, const void* address,
                                              std::uint64_t bytes) {
  const AdoptedRange* const range = adopted_range(h, address, bytes);
  if (range == nullptr) return kNoHeapOffset;
  return range->offset +
         static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - range->base);
}

// The address of adopted memory at a PE whose heap is mapped; another address keeps its distance
// from the heap.
WEFT_DEVICE_COLD std::byte* adopted_on(ByValue<ColdContext> h, const void* address, std::byte* heap,
                                       int pe) {
  const auto* const mine = static_cast<const std::byte*>(address);
  const AdoptedRange* const range = adopted_range(h, address, 0);
  if (range == nullptr) return heap + (mine - h.state->heap);
  std::byte* const base = range->peer != nullptr ? range->peer[pe] : heap + range->offset;
  return base + (mine - range->base);
}

// The offset of a symmetric address; another address gives its distance from the heap.
WEFT_DEVICE std::uint64_t offset_of(const DeviceContext& h, const void* symmetric) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(symmetric) - h.heap);
  if (offset <= h.heap_bytes) return offset;
  const std::uint64_t adopted = adopted_offset(h, symmetric, 0);
  return adopted != kNoHeapOffset ? adopted : offset;
}

// The address here of a symmetric object of `pe`, whose heap is mapped at `heap`.
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

// The translation of [address, address + bytes).
struct AddressTranslation {
  std::uint64_t offset;  // that of an address that is not symmetric is its distance from the heap
  const AdoptedRange* range;  // the adopted memory that it lies in; null: the heap, or none
  bool is_symmetric;          // all of the range
};

WEFT_DEVICE AddressTranslation translate_address(ColdContext h, const void* address,
                                                 std::uint64_t bytes) {
  const auto* const mine = static_cast<const std::byte*>(address);
  const auto offset = static_cast<std::uint64_t>(mine - h.state->heap);
  const std::uint64_t heap_bytes = h.state->heap_bytes;
  if (offset <= heap_bytes) return {offset, nullptr, bytes <= heap_bytes - offset};
  const AdoptedRange* const range = adopted_range(h, address, bytes != 0);
  if (range == nullptr) return {offset, nullptr, false};
  const auto at = static_cast<std::uint64_t>(mine - range->base);
  return {range->offset + at, range, bytes <= range->bytes - at};
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
