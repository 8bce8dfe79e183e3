// The message from share() to open(): whose memory it is, and what opens it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/result.hpp>

#include "src/platform/gpu/device.hpp"
#include "src/platform/platform.hpp"

namespace weft::gpu {

struct MemoryBlob {
  static constexpr std::uint64_t kMagic = 0x3230'7570'6766'7477;
  std::uint64_t magic = kMagic;
  Kind kind{};
  Way way{};
  Identity gpu;
  std::uint64_t bytes = 0;
  Uuid process{};            // that has it
  std::uint64_t base = 0;    // of the allocation, there, and how far into it the memory begins;
  std::uint64_t offset = 0;  // of use with kIpc
  abi::Token token{};        // the driver's; with kFd where the descriptor is
  Home home = 0;             // of the GPU, there
};

// With all but the token, base and offset.
MemoryBlob describe(const Device& device, std::size_t bytes);
Blob pack(const MemoryBlob& memory);
// An error for bytes that pack() did not make, for memory that goes another way than the device's,
// and when there are not `want` bytes of it.
Result<MemoryBlob> parse(const Blob& blob, const Device& device, std::size_t want);

}  // namespace weft::gpu
