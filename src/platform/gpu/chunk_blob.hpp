// What share() tells open(): where the descriptor of a chunk is, and what it must be.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/status.hpp>

#include "src/platform/gpu/device.hpp"
#include "src/platform/platform.hpp"

namespace weft::gpu {

struct ChunkBlob {
  static constexpr std::uint64_t kMagic = 0x3130'7570'6766'7477;
  std::uint64_t magic = kMagic;
  Uuid server{};
  Uuid ticket{};
  Identity gpu;
  std::uint64_t bytes = 0;
};

Blob pack(const ChunkBlob& chunk);
// An error for bytes that pack() did not make, and when there are not `want` bytes of memory.
Result<ChunkBlob> parse(const Blob& blob, std::size_t want);

}  // namespace weft::gpu
