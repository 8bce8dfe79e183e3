// A second, slow and obvious allocator, to hold the fast one against: the space as one letter per
// granule. Best fit by looking at every free run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "host/memory/offset_allocator.hpp"

namespace weft::test {

class AllocatorModel {
 public:
  static constexpr std::uint64_t kGranule = OffsetAllocator::kGranule;

  void extend(std::uint64_t granules) { space_.append(granules, '.'); }

  std::optional<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t align) {
    const std::uint64_t need = granules(bytes);
    const std::uint64_t step = std::max<std::uint64_t>(align / kGranule, 1);
    std::uint64_t best = kNone, best_size = kNone;
    for (std::uint64_t at = 0; at < space_.size();) {
      if (space_[at] != '.') {
        ++at;
        continue;
      }
      std::uint64_t end = at;
      while (end < space_.size() && space_[end] == '.') ++end;
      const std::uint64_t start = (at + step - 1) / step * step;
      if (start + need <= end && end - at < best_size) best = start, best_size = end - at;
      at = end;
    }
    if (best == kNone) return std::nullopt;
    std::fill_n(space_.begin() + static_cast<std::ptrdiff_t>(best), need, '#');
    live_[best * kGranule] = bytes;
    return best * kGranule;
  }

  std::optional<std::uint64_t> free(std::uint64_t offset) {
    const auto block = live_.find(offset);
    if (block == live_.end()) return std::nullopt;
    const std::uint64_t bytes = block->second;
    std::fill_n(space_.begin() + static_cast<std::ptrdiff_t>(offset / kGranule), granules(bytes),
                '.');
    live_.erase(block);
    return bytes;
  }

  std::optional<OffsetAllocator::Block> find(std::uint64_t offset, std::uint64_t bytes) const {
    std::optional<OffsetAllocator::Block> found;
    for (const auto& [start, size] : live_) {
      if (start <= offset && offset + bytes <= start + size) found = {start, size};
    }
    return found;
  }

  std::uint64_t in_use() const {
    return kGranule * static_cast<std::uint64_t>(std::count(space_.begin(), space_.end(), '#'));
  }
  const std::map<std::uint64_t, std::uint64_t>& live() const { return live_; }
  std::uint64_t space() const { return space_.size() * kGranule; }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static std::uint64_t granules(std::uint64_t bytes) {
    return std::max<std::uint64_t>((bytes + kGranule - 1) / kGranule, 1);
  }
  std::string space_;
  std::map<std::uint64_t, std::uint64_t> live_;  // offset -> bytes asked
};

}  // namespace weft::test
