// OffsetAllocator: hands out ranges of an abstract space. Pure: no memory, no clock, no threads, and
// deterministic, since every PE runs the same calls and must get the same offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace weft {

// Best fit, lowest offset among equals; neighbours merge when freed. O(log n) each.
class OffsetAllocator {
 public:
  static constexpr std::uint64_t kGranule = 64;  // every block is a multiple of this

  // Appends [end, end + bytes) to the space.
  void extend(std::uint64_t bytes);
  // align: a power of two. Nothing when no free range fits.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t align);
  // Nothing when `offset` is not the start of a live block.
  std::optional<std::uint64_t> free(std::uint64_t offset);
  std::optional<std::uint64_t> size_of(std::uint64_t offset) const;
  // The live block that contains [offset, offset + bytes), as (start, bytes asked).
  std::optional<std::pair<std::uint64_t, std::uint64_t>> find(std::uint64_t offset,
                                                              std::uint64_t bytes) const;

  std::uint64_t space() const { return end_; }
  std::uint64_t in_use() const { return in_use_; }
  std::size_t live() const { return live_.size(); }
  // Free bytes at the end of the space: what growth may count on.
  std::uint64_t tail() const;

 private:
  struct Block {
    std::uint64_t bytes;  // rounded
    std::uint64_t asked;
  };
  void insert_free(std::uint64_t offset, std::uint64_t bytes);
  void erase_free(std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t end_ = 0;
  std::uint64_t in_use_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;                        // offset -> bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_size_;    // (bytes, offset)
  std::map<std::uint64_t, Block> live_;
};

}  // namespace weft
