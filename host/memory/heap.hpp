// Heap: same offset = same object on every PE. The only place that turns addresses into offsets.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <weft/context.hpp>
#include <weft/options.hpp>
#include <weft/result.hpp>

#include "host/memory/offset_allocator.hpp"
#include "src/platform/platform.hpp"

namespace weft {

enum class Offset : std::uint64_t {};  // heap-relative; cannot be added to twice by accident
inline std::uint64_t to_u64(Offset offset) { return static_cast<std::uint64_t>(offset); }

// How a heap may grow, and what messages call it.
struct HeapShape {
  std::size_t bytes = 0;        // at most
  std::size_t chunk_bytes = 0;  // step
  std::size_t adopt_bytes = 0;  // address space for Heap::adopt
  MemoryHints hints;
  const char* name = "symmetric heap";
  std::string size_option = "WEFT_HEAP_SIZE";
};
HeapShape host_heap(const Options& options);
HeapShape gpu_heap(const Options& options);

class Heap {
 public:
  // Called for each new chunk, and for each piece of adopted memory, on every PE in the same order:
  // expose, exchange, attach. A PE whose commit failed calls it, too, with that failure, since the
  // others are on their way into the exchange: a chunk that fails anywhere must fail everywhere. It
  // is then given back.
  using Announce = std::function<Status(std::uint64_t offset, const Result<Memory>& chunk)>;

  // Largest alignment, whatever the platform: what every reservation begins on.
  static constexpr std::size_t kMaxAlign = kReserveAlign;

  // Address space only; the first allocation commits the first chunk. The shape must be the same
  // on all PEs. Behind the heap's own offsets lie `adopt_bytes` more, for adopt().
  static Result<std::unique_ptr<Heap>> create(Platform& platform, const HeapShape& shape);
  // The same in a part of somebody's reservation: space_of(platform, shape) bytes of it.
  static std::unique_ptr<Heap> create_in(Memory part, Platform& platform, const HeapShape& shape);
  static std::size_t space_of(const Platform& platform, const HeapShape& shape);
  ~Heap();
  void on_growth(Announce announce) { announce_ = std::move(announce); }

  // Another heap, whose addresses this one's messages recognise.
  void set_neighbour(const Heap* other) { neighbour_ = other; }

  // Collective in effect: every PE makes the same calls in the same order, so all get the same
  // offset without talking; only growth calls Announce. Thread-safe. 0 bytes give null. align: a
  // power of two up to kMaxAlign; 0 takes 64. A failure leaves the heap as it was.
  Result<void*> allocate(std::size_t bytes, std::size_t align);
  Status free(void* memory);
  // Bytes of a live allocation that starts at `memory`.
  Result<std::size_t> size_of(const void* memory) const;

  // Memory that this process has already gets offsets behind those of the heap; contents and
  // address stay, and offset_of() and its like know it from then on. Whole pages, unless the
  // platform leaves them where they are; then `peer` is what kernels find in the range. Collective
  // in effect, as allocate() is; every PE brings as many bytes. A failure leaves nothing adopted.
  Status adopt(Range own, std::byte* const* peer = nullptr);
  // One of adopted(), which the platform left where it is, is this process's alone again.
  // Collective in effect.
  void disown(const AdoptedRange& piece);
  // The offsets of adopted pieces that have a part in `own`, and whose memory was freed meanwhile.
  std::vector<std::uint64_t> freed_pieces(Range own) const;
  // The piece that all of [address, address + bytes) lies in; null: none.
  const AdoptedRange* piece_of(const void* address, std::size_t bytes) const {
    const auto own = adopted();
    return detail::adopted_range(own.data(), own.size(), address, bytes);
  }
  static constexpr std::size_t kMaxAdopted = 256;
  // The pieces that have been adopted; never moves. A piece that was disowned holds nothing.
  std::span<const AdoptedRange> adopted() const {
    // acquire: pairs with the release in adopt().
    return {adopted_.data(), adopted_count_.load(std::memory_order_acquire)};
  }

  // The range check: an error that names address, bytes and heap unless all of
  // [address, address + bytes) lies in committed heap memory, or in one piece of adopted memory.
  Result<Offset> offset_of(const void* address, std::size_t bytes) const;
  // The same answer without a text, for the hot path: kNoOffset when it does not.
  static constexpr std::uint64_t kNoOffset = detail::kNowhere;
  std::uint64_t try_offset(const void* address, std::size_t bytes) const {
    // relaxed: whoever holds an address of a chunk got it from allocate(), after the growth.
    const std::size_t committed = committed_.load(std::memory_order_relaxed);
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(range_.base);
    if (offset <= committed && bytes <= committed - offset) [[likely]]
      return offset;
    const auto own = adopted();
    return detail::adopted_offset(own.data(), own.size(), address, bytes);
  }
  // WEFT_CHECK: kInvalidArgument with a clear text unless the range is inside one live allocation,
  // or in adopted memory that is still there.
  Status check_live(const void* address, std::size_t bytes) const;

  const char* name() const { return shape_.name; }
  Range range() const { return range_; }                // the heap
  Range space() const { return reservation_.range(); }  // and the space for what is adopted
  std::size_t committed() const { return committed_.load(std::memory_order_relaxed); }
  std::size_t in_use() const;
  // Whether `address` lies in what may become heap memory, or is adopted.
  bool may_hold(const void* address) const;

 private:
  Heap(Platform& platform, const HeapShape& shape, Memory reservation, std::size_t bytes);
  void hide(const std::byte* memory, std::size_t bytes) const;
  void show(const std::byte* memory, std::size_t bytes) const;
  Result<Memory> take_over(Range own, std::uint64_t offset);
  Status check_room_for(Range own, std::uint64_t offset) const;
  Status check_apart(Range own) const;
  Status check_current(const void* address, std::size_t bytes) const;
  const Memory& memory_of(const AdoptedRange& piece) const {
    return adopted_memory_[static_cast<std::size_t>(&piece - adopted_.data())];
  }
  std::size_t free_slot() const;
  Status grow(std::size_t bytes, std::size_t align);
  Status check_can_hold(std::size_t bytes, std::size_t missing) const;
  Status not_an_allocation(const void* memory) const;

  Platform& platform_;
  const HeapShape shape_;
  const Heap* neighbour_ = nullptr;
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
  std::array<AdoptedRange, kMaxAdopted> adopted_;
  std::array<Memory, kMaxAdopted> adopted_memory_;
  std::atomic<std::size_t> adopted_count_{0};
  std::uint64_t adopted_end_;  // the first offset that none has ever had
};

}  // namespace weft
