// Heap: same offset = same object on every PE. The only place that turns addresses into offsets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <weft/options.hpp>
#include <weft/status.hpp>

#include "host/memory/offset_allocator.hpp"
#include "src/platform/platform.hpp"

namespace weft {

enum class Offset : std::uint64_t {};  // heap-relative; cannot be added to twice by accident
inline std::uint64_t to_u64(Offset offset) { return static_cast<std::uint64_t>(offset); }

class Heap {
 public:
  // Called for each new chunk, on every PE in the same order: expose, exchange, attach. A PE whose
  // commit failed calls it, too, with that failure, since the others are on their way into the
  // exchange: a chunk that fails anywhere must fail everywhere. It is then given back.
  using Announce = std::function<Status(std::uint64_t offset, const Result<Memory>& chunk)>;

  // Largest alignment, whatever the platform: what every reservation begins on.
  static constexpr std::size_t kMaxAlign = kReserveAlign;

  // Address space only; the first allocation commits the first chunk. WEFT_HEAP_SIZE and
  // WEFT_HEAP_CHUNK must be the same on all PEs.
  static Result<std::unique_ptr<Heap>> create(Platform& platform, const Options& options);
  ~Heap();
  void on_growth(Announce announce) { announce_ = std::move(announce); }

  // Collective in effect: every PE makes the same calls in the same order, so all get the same
  // offset without talking; only growth calls Announce. Thread-safe. 0 bytes give null. align: a
  // power of two up to kMaxAlign; 0 takes 64. A failure leaves the heap as it was.
  Result<void*> allocate(std::size_t bytes, std::size_t align);
  Status free(void* memory);
  // Bytes of a live allocation that starts at `memory`.
  Result<std::size_t> size_of(const void* memory) const;

  // The range check: an error that names address, bytes and heap unless all of
  // [address, address + bytes) lies in committed heap memory.
  Result<Offset> offset_of(const void* address, std::size_t bytes) const;
  // The same answer without a text, for the hot path: kNoOffset when it does not.
  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};
  std::uint64_t try_offset(const void* address, std::size_t bytes) const {
    // relaxed: whoever holds an address of a chunk got it from allocate(), after the growth.
    const std::size_t committed = committed_.load(std::memory_order_relaxed);
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(range_.base);
    return offset <= committed && bytes <= committed - offset ? offset : kNoOffset;
  }
  // WEFT_CHECK: kInvalidArgument with a clear text unless the range is inside one live allocation.
  Status check_live(const void* address, std::size_t bytes) const;

  Range range() const { return range_; }
  std::size_t committed() const { return committed_.load(std::memory_order_relaxed); }
  std::size_t in_use() const;

 private:
  Heap(Platform& platform, const Options& options, Memory reservation);
  Status grow(std::size_t bytes, std::size_t align);
  Status check_can_hold(std::size_t bytes, std::size_t missing) const;
  Status not_an_allocation(const void* memory) const;

  Platform& platform_;
  MemoryHints hints_;
  std::size_t chunk_bytes_;
  Memory reservation_;
  Range range_;
  Announce announce_;
  // One allocate or free at a time, exchange with other PEs included. The other lock is only ever
  // held for a moment: a put that asks check_live() must not wait until a peer joins a growth.
  std::mutex order_;
  mutable std::mutex mutex_;
  OffsetAllocator allocator_;
  std::vector<Memory> chunks_;
  std::atomic<std::size_t> committed_{0};
};

}  // namespace weft
