#include "src/platform/gpu/memory_blob.hpp"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

namespace weft::gpu {

static_assert(std::is_trivially_copyable_v<MemoryBlob> && sizeof(MemoryBlob) == 160, "no padding");

MemoryBlob describe(const Device& device, std::size_t bytes) {
  MemoryBlob out;
  out.kind = device.driver().kind();
  out.way = device.way();
  out.gpu = device.identity();
  out.bytes = bytes;
  out.process = process_uuid();
  out.home = device.home();
  return out;
}

Blob pack(const MemoryBlob& memory) {
  Blob blob(sizeof memory);
  std::memcpy(blob.data(), &memory, sizeof memory);
  return blob;
}

Result<MemoryBlob> parse(const Blob& blob, const Device& device, std::size_t want) {
  MemoryBlob parsed;
  if (blob.size() == sizeof parsed) std::memcpy(&parsed, blob.data(), sizeof parsed);
  if (blob.size() != sizeof parsed || parsed.magic != MemoryBlob::kMagic ||
      parsed.kind != device.driver().kind() || parsed.way != device.way()) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{} bytes that do not describe memory of a GPU of {} that is shared by {}; do "
                    "all PEs run the same build of Weft, on the same platform?",
                    blob.size(), device.driver().words().vendor, to_string(device.way())));
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
