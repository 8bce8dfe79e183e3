// Bodies of Bulk: copies by the GPU's engine for them.
#pragma once

#include <cstddef>

#include <weft/device/scope.hpp>

#include <weft/dev/copy.hpp>
#include <weft/dev/platform.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

inline constexpr std::size_t kLeastBulkBytes = 4096;  // fewer are there sooner by all threads
inline constexpr unsigned kLeastBulkStage = 2048;     // a line for each piece, and barriers
inline constexpr std::size_t kLeastBulkRow = 512;     // each is asked for by itself

template <class Scope>
WEFT_DEVICE bool Bulk<Scope>::takes(const std::byte* dst, const std::byte* src,
                                    std::size_t bytes) const {
  return platform::kHasBulkCopy && bytes >= kLeastBulkBytes && bytes_ >= kLeastBulkStage &&
         is_in_chunks(dst, src, bytes) && platform::is_in_memory(dst) &&
         platform::is_in_memory(src);
}

template <class Scope>
WEFT_DEVICE void Bulk<Scope>::copy(std::byte* dst, const std::byte* src, std::size_t bytes) const {
  if (this->rank() == 0) platform::bulk_copy(stage_, bytes_, dst, src, bytes);
}

template <class Scope>
WEFT_DEVICE bool Bulk<Scope>::takes_rows(const std::byte* dst, const std::byte* src,
                                         std::size_t row_bytes, std::uint64_t alignment) const {
  return platform::kHasBulkCopy && bytes_ >= kLeastBulkStage && row_bytes >= kLeastBulkRow &&
         row_bytes <= bytes_ / 10 && alignment % 16 == 0 && platform::is_in_memory(dst) &&
         platform::is_in_memory(src);
}

template <class Scope>
WEFT_DEVICE void Bulk<Scope>::copy_rows(std::byte* dst, std::size_t dst_stride,
                                        const std::byte* src, std::size_t src_stride,
                                        std::size_t row_bytes, std::size_t rows) const {
  if (this->rank() == 0)
    platform::bulk_copy_rows(stage_, bytes_, dst, dst_stride, src, src_stride,
                             static_cast<unsigned>(row_bytes), static_cast<unsigned>(rows));
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
