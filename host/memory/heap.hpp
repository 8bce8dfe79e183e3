// Heap: same offset = same object on every PE. The only place that turns addresses into offsets.
#pragma once

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

  static Result<std::unique_ptr<Heap>> create(Platform& platform, const Options& options);
  void on_growth(Announce announce) { announce_ = std::move(announce); }

  // Collective in effect: every PE makes the same calls in the same order, so all get the same
  // offset without talking; only growth calls Announce. Thread-safe.
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
    const auto offset = reinterpret_cast<std::uintptr_t>(address) -
                        reinterpret_cast<std::uintptr_t>(range_.base);
    return offset <= committed_ && bytes <= committed_ - offset ? offset : kNoOffset;
  }
  // WEFT_CHECK: kInvalidArgument with a clear text unless the range is inside one live allocation.
  Status check_live(const void* address, std::size_t bytes) const;

  Range range() const { return range_; }
  std::size_t committed() const { return committed_; }
  std::size_t in_use() const;

 private:
  friend struct HeapBuilder;
  Heap() = default;
  Status grow(std::size_t bytes);

  Platform* platform_ = nullptr;
  MemoryHints hints_;
  std::size_t chunk_bytes_ = 0;
  Memory reservation_;
  Range range_;
  std::size_t committed_ = 0;
  std::vector<Memory> chunks_;
  mutable std::mutex mutex_;
  OffsetAllocator allocator_;
  Announce announce_;
};

}  // namespace weft
