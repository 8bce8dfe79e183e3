#include "host/transport/network/staging.hpp"

namespace weft::network {

Status Staging::open() {
  std::size_t bytes = 0;
  for (const Size& size : kSizes) bytes += size.bytes * size.blocks;
  ASSIGN_OR_RETURN(buffer_, Buffer::make(bytes, register_));
  std::byte* at = buffer_.base();
  for (std::size_t size = 0; size < kSizes.size(); ++size)
    for (std::size_t block = 0; block < kSizes[size].blocks; ++block, at += kSizes[size].bytes)
      free_[size].push_back(at);
  return Status::ok();
}

Result<Staging::Block> Staging::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (buffer_.base() == nullptr) RETURN_IF_ERROR(open());
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    if (bytes > kSizes[size].bytes || free_[size].empty()) continue;
    const Block block{free_[size].back(), buffer_.key(), static_cast<std::uint8_t>(size)};
    free_[size].pop_back();
    return block;
  }
  return Block{};
}

void Staging::give(const Block& block) {
  const std::lock_guard lock(mutex_);
  free_[block.size].push_back(block.base);
}

}  // namespace weft::network
