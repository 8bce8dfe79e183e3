// What a kernel is given: plain data, passed by value as a kernel parameter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

struct DeviceState;

// Memory of the user's own that became symmetric (Runtime::adopt): `bytes` at my `base` have the
// offsets from `offset` on, which lie behind those of the heap.
struct AdoptedRange {
  const std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

// Made by Context::device() on the host; in a kernel: `weft::dev::Context ctx(handle);`.
// What every operation reads lies here, in the kernel's parameters; the rest is behind `state`.
// No global symbol, no relocatable device code, no module initialisation.
struct DeviceContext {
  std::byte* heap = nullptr;         // my symmetric heap: offset 0
  std::byte* const* peer = nullptr;  // peer[pe]: where that PE's offset 0 is mapped; null: via ring
  const DeviceState* state = nullptr;
  std::uint64_t heap_bytes = 0;  // reserved; offsets below it are the heap's
  std::int32_t pe = 0;
  std::int32_t npes = 1;
  std::int32_t lane = 0;    // which ring of `state`
  std::uint32_t flags = 0;  // kDeviceCheck
};

inline constexpr std::uint32_t kDeviceCheck = 1;  // WEFT_CHECK=1: verify pe and ranges in kernels

}  // namespace weft
