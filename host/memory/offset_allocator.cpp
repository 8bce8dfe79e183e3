#include "host/memory/offset_allocator.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace weft {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// Up to a multiple of `align`, a power of two; kMax when there is none.
std::uint64_t round_up(std::uint64_t value, std::uint64_t align) {
  return value > kMax - (align - 1) ? kMax : (value + align - 1) & ~(align - 1);
}

std::uint64_t rounded(std::uint64_t bytes) {
  return round_up(std::max<std::uint64_t>(bytes, 1), OffsetAllocator::kGranule);
}

std::uint64_t at_least_granule(std::uint64_t align) {
  return std::max(align, OffsetAllocator::kGranule);
}

}  // namespace

void OffsetAllocator::extend(std::uint64_t bytes) {
  if (bytes == 0) return;
  insert_free(end_, bytes);
  end_ += bytes;
}

std::optional<std::uint64_t> OffsetAllocator::allocate(std::uint64_t bytes, std::uint64_t align) {
  const std::uint64_t need = rounded(bytes);
  for (auto it = free_by_size_.lower_bound({need, 0}); it != free_by_size_.end(); ++it) {
    const auto [size, offset] = *it;
    const std::uint64_t start = round_up(offset, at_least_granule(align));
    if (start - offset > size - need) continue;  // too small once aligned
    erase_free(offset, size);
    if (start > offset) insert_free(offset, start - offset);
    if (start + need < offset + size) insert_free(start + need, offset + size - start - need);
    live_.emplace(start, Live{need, bytes});
    in_use_ += need;
    return start;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> OffsetAllocator::free(std::uint64_t offset) {
  const auto block = live_.find(offset);
  if (block == live_.end()) return std::nullopt;
  const Live freed = block->second;
  live_.erase(block);
  in_use_ -= freed.bytes;
  insert_free(offset, freed.bytes);
  return freed.asked;
}

std::optional<std::uint64_t> OffsetAllocator::size_of(std::uint64_t offset) const {
  const auto block = live_.find(offset);
  if (block == live_.end()) return std::nullopt;
  return block->second.asked;
}

std::optional<OffsetAllocator::Block> OffsetAllocator::at_or_before(std::uint64_t offset) const {
  const auto after = live_.upper_bound(offset);
  if (after == live_.begin()) return std::nullopt;
  const auto& [start, block] = *std::prev(after);
  return Block{start, block.asked};
}

std::optional<OffsetAllocator::Block> OffsetAllocator::find(std::uint64_t offset,
                                                            std::uint64_t bytes) const {
  const auto block = at_or_before(offset);
  if (!block) return std::nullopt;
  const std::uint64_t into = offset - block->offset;
  if (into > block->bytes || bytes > block->bytes - into) return std::nullopt;
  return block;
}

std::uint64_t OffsetAllocator::largest_free() const {
  return free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first;
}

std::uint64_t OffsetAllocator::missing(std::uint64_t bytes, std::uint64_t align) const {
  std::uint64_t tail = end_;  // where the free range at the end begins
  if (!free_.empty()) {
    const auto& [offset, size] = *free_.rbegin();
    if (offset + size == end_) tail = offset;
  }
  const std::uint64_t need = rounded(bytes);
  const std::uint64_t start = round_up(tail, at_least_granule(align));
  if (need > kMax - start) return kMax;
  return start + need > end_ ? start + need - end_ : 0;
}

// Merges with the free neighbours.
void OffsetAllocator::insert_free(std::uint64_t offset, std::uint64_t bytes) {
  const auto after = free_.upper_bound(offset);
  if (after != free_.end() && offset + bytes == after->first) {
    const std::uint64_t more = after->second;
    erase_free(after->first, more);
    bytes += more;
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto [before, size] = *std::prev(next);
    if (before + size == offset) {
      erase_free(before, size);
      offset = before;
      bytes += size;
    }
  }
  free_.emplace(offset, bytes);
  free_by_size_.emplace(bytes, offset);
}

void OffsetAllocator::erase_free(std::uint64_t offset, std::uint64_t bytes) {
  free_.erase(offset);
  free_by_size_.erase({bytes, offset});
}

}  // namespace weft
