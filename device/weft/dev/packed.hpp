// Packed messages (weft/device/ll.hpp): 4 bytes of data and their flag travel in one word.
//
// A unit is 8 bytes of a message, and travels as two such words: what one store of 16 bytes writes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/ll.hpp>

#include <weft/dev/copy.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/team_block.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

static_assert(kPackedUnit == kLLPacketBytes, "a unit of a team's messages is a packet's data");

WEFT_DEVICE void store_packed(std::uint64_t* to, std::uint64_t unit, std::uint32_t flag) {
  const std::uint64_t high = std::uint64_t{flag} << 32;
  platform::store_pair(to, {high | (unit & 0xffffffffu), high | (unit >> 32)});
}

WEFT_DEVICE std::uint64_t unit_of(Pair packed) {
  return (packed.first & 0xffffffffu) | packed.second << 32;
}
WEFT_DEVICE bool has_flag(Pair packed, std::uint32_t flag) {
  return static_cast<std::uint32_t>(packed.first >> 32) == flag &&
         static_cast<std::uint32_t>(packed.second >> 32) == flag;
}

// A unit that is short, or lies at no multiple of its size.
WEFT_DEVICE std::uint64_t load_odd_unit(const std::byte* from, unsigned bytes) {
  std::uint64_t unit = 0;
  WEFT_DEVICE_AS_A_LOOP
  for (unsigned i = 0; i < bytes; ++i) unit |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return unit;
}
WEFT_DEVICE void store_odd_unit(std::byte* to, unsigned bytes, std::uint64_t unit) {
  WEFT_DEVICE_AS_A_LOOP
  for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(unit >> (8 * i));
}

WEFT_DEVICE bool is_whole_unit(const std::byte* at, std::size_t bytes) {
  return bytes >= kPackedUnit && reinterpret_cast<std::uintptr_t>(at) % kPackedUnit == 0;
}

// Unit `index` of a message of `bytes` at `message`.
WEFT_DEVICE std::uint64_t load_unit(const std::byte* message, std::size_t bytes,
                                    std::size_t index) {
  using Unit = Chunk<kPackedUnit>::type;
  const std::byte* const from = message + index * kPackedUnit;
  const std::size_t left = bytes - index * kPackedUnit;
  if (is_whole_unit(from, left)) return *reinterpret_cast<const Unit*>(from);
  return load_odd_unit(from, static_cast<unsigned>(left < kPackedUnit ? left : kPackedUnit));
}
WEFT_DEVICE void store_unit(std::byte* message, std::size_t bytes, std::size_t index,
                            std::uint64_t unit) {
  using Unit = Chunk<kPackedUnit>::type;
  std::byte* const to = message + index * kPackedUnit;
  const std::size_t left = bytes - index * kPackedUnit;
  if (is_whole_unit(to, left))
    *reinterpret_cast<Unit*>(to) = unit;
  else
    store_odd_unit(to, static_cast<unsigned>(left < kPackedUnit ? left : kPackedUnit), unit);
}

}  // namespace WEFT_TARGET
}  // namespace weft::dev
