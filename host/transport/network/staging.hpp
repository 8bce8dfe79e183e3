// Staging: registered memory through which bytes go that lie in no heap. Two sizes of blocks, so
// that small messages leave the large ones free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "host/transport/network/memory.hpp"

namespace weft::network {

class Staging {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10;

  explicit Staging(Register register_memory) : register_(std::move(register_memory)) {}

  struct Block {
    std::byte* base = nullptr;  // null: none is free
    std::uint64_t key = 0;
    std::uint8_t size = 0;  // which of the sizes
  };

  // Takes and registers the memory at the first call. A block is free again after give().
  Result<Block> take(std::size_t bytes);
  void give(const Block& block);
  // The key of all blocks by another rail than the first; for one who has taken a block.
  std::uint64_t key(std::size_t rail) const { return buffer_.key(rail); }

 private:
  struct Size {
    std::size_t bytes;
    std::size_t blocks;
  };
  static constexpr std::array<Size, 2> kSizes = {Size{4096, 256}, Size{kMostBytes, 16}};

  Status open();

  const Register register_;
  std::mutex mutex_;
  Buffer buffer_;
  std::array<std::vector<std::byte*>, kSizes.size()> free_;
};

}  // namespace weft::network
