// Blocks of bytes, which the sized names (put32, broadcastmem) move.
#pragma once

#include <cstddef>

#include <weft/types.hpp>

namespace weft {

template <int kBits>
struct Block {
  std::byte bytes[kBits / 8];
};
template <int kBits>
Block<kBits>* as_blocks(void* memory) {
  return static_cast<Block<kBits>*>(memory);
}
template <int kBits>
const Block<kBits>* as_blocks(const void* memory) {
  return static_cast<const Block<kBits>*>(memory);
}

// The only multiplication; what does not fit, the range checks refuse.
inline std::size_t bytes_of_blocks(std::size_t block, std::size_t count) {
  return count > kTooManyBytes / block ? kTooManyBytes : count * block;
}

}  // namespace weft

#define WEFT_BITS(B, memory) weft::as_blocks<B>(memory)
