#include "src/platform/gpu/chunk_blob.hpp"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

namespace weft::gpu {

static_assert(std::is_trivially_copyable_v<ChunkBlob> && sizeof(ChunkBlob) == 80, "no padding");

Blob pack(const ChunkBlob& chunk) {
  Blob blob(sizeof chunk);
  std::memcpy(blob.data(), &chunk, sizeof chunk);
  return blob;
}

Result<ChunkBlob> parse(const Blob& blob, std::size_t want) {
  ChunkBlob parsed;
  if (blob.size() == sizeof parsed) std::memcpy(&parsed, blob.data(), sizeof parsed);
  if (blob.size() != sizeof parsed || parsed.magic != ChunkBlob::kMagic) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{} bytes that do not describe memory of an NVIDIA GPU; do "
                                     "all PEs run the same build of Weft, on the same platform?",
                                     blob.size()));
  }
  if (parsed.bytes != want) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("a peer's chunk has {} bytes and shall be mapped on {}; do all "
                    "PEs have the same WEFT_GPU_HEAP_SIZE and WEFT_GPU_HEAP_CHUNK?",
                    parsed.bytes, want));
  }
  return parsed;
}

}  // namespace weft::gpu
