// The plain data that a kernel is given, by value, as a kernel parameter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

struct DeviceState;

// Memory of the user's own that became symmetric (Runtime::adopt): `bytes` at my `base` have the
// offsets from `offset` on, which lie behind those of the heap. Memory of a GPU stays where each PE
// has it: then kernels find in `peer` where PE pe's begins. Null: at that offset of its heap.
struct AdoptedRange {
  const std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::byte* const* peer = nullptr;
};

// Where the collectives of every team keep their words and scratch, in every PE's heap: block
// `team.id` starts at `offset + team.id * stride`. The layout inside is dev/team_block.hpp.
struct TeamBlocks {
  std::uint64_t offset = 0;     // heap offset of block 0
  std::uint64_t stride = 0;     // bytes of one block
  std::int32_t count = 0;       // WEFT_MAX_TEAMS
  std::int32_t slot_bytes = 0;  // scratch per (parity, source rank); shrinks as npes grows
  // Parts of the layout, so that no call works them out: messages of a sync; where buffers and
  // slots begin.
  std::int32_t sync_words = 0, work = 0, slots = 0;
  // Messages up to this size go packed (dev/packed.hpp): where only kernels use the teams, and
  // every PE maps every other.
  std::int32_t packed_bytes = 0;
  // Larger blocks are read where they lie by who wants them; set when every PE maps every other.
  std::uint64_t pushed_bytes = ~std::uint64_t{0};
};

// Made by Context::device() on the host; in a kernel: `weft::dev::Context ctx(handle);`. The fields
// that every operation reads lie here, in the kernel's parameters; the rest is behind `state`. No
// global symbol, no relocatable device code, no module initialisation.
struct DeviceContext {
  std::byte* heap = nullptr;         // my symmetric heap: offset 0
  std::byte* const* peer = nullptr;  // peer[pe]: where that PE's offset 0 is mapped; null: via ring
  const DeviceState* state = nullptr;
  std::uint64_t heap_bytes = 0;  // reserved; offsets below it are the heap's
  std::int32_t pe = 0;
  std::int32_t npes = 1;
  std::int32_t lane = 0;    // which ring of `state`
  std::uint32_t flags = 0;  // kDevice..., below
  TeamBlocks teams;
  // Ranges below it need neither be looked up nor verified: heap_bytes if no flag is set and every
  // PE is mapped, PE 0's offset 0 `to_first` bytes behind mine, each other's `stride` behind the
  // one before; else 0.
  std::uint64_t plain_bytes = 0;
  std::int64_t to_first = 0;
  std::uint64_t stride = 0;
};

inline constexpr std::uint32_t kDeviceCheck = 1;  // WEFT_CHECK=1: verify pe and ranges in kernels
inline constexpr std::uint32_t kDeviceRing = 2;   // there is a ring; else all peers are mapped
inline constexpr std::uint32_t kDeviceAtomicsByRing = 4;  // WEFT_IB_ATOMICS=nic: those of 8 bytes

}  // namespace weft
