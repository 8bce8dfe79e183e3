// OffsetAllocator: hands out ranges of an abstract space. Pure: no memory, no clock, no threads,
// and deterministic, since every PE runs the same calls and must get the same offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace weft {

// Best fit, lowest offset among equals; neighbours merge when freed. O(log n) each, plus, for
// alignments above kGranule, a step per free range that is large enough and lies badly.
class OffsetAllocator {
 public:
  static constexpr std::uint64_t kGranule = 64;  // every block is a multiple of this

  struct Block {
    std::uint64_t offset;
    std::uint64_t bytes;  // as asked for
  };

  // Appends [space(), space() + bytes) to the space; a multiple of kGranule.
  void extend(std::uint64_t bytes);
  // align: a power of two. Nothing when no free range fits. 0 bytes take a granule.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t align);
  // The bytes of the block; nothing when `offset` is not the start of a live one.
  std::optional<std::uint64_t> free(std::uint64_t offset);
  std::optional<std::uint64_t> size_of(std::uint64_t offset) const;
  // The live block that holds all of [offset, offset + bytes).
  std::optional<Block> find(std::uint64_t offset, std::uint64_t bytes) const;
  // The last live block that starts at or before `offset`, wherever it ends: for error texts.
  std::optional<Block> at_or_before(std::uint64_t offset) const;

  std::uint64_t space() const { return end_; }
  std::uint64_t in_use() const { return in_use_; }  // rounded to granules
  std::size_t live() const { return live_.size(); }
  std::uint64_t largest_free() const;
  // By how much the space must grow at its end for allocate(bytes, align) to succeed there; the
  // largest number when no space is large enough.
  std::uint64_t missing(std::uint64_t bytes, std::uint64_t align) const;

 private:
  struct Live {
    std::uint64_t bytes;  // rounded
    std::uint64_t asked;
  };
  void insert_free(std::uint64_t offset, std::uint64_t bytes);
  void erase_free(std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t end_ = 0;
  std::uint64_t in_use_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;                     // offset -> bytes
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_size_;  // (bytes, offset)
  std::map<std::uint64_t, Live> live_;
};

}  // namespace weft
