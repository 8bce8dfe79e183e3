// The LL protocol: packets of 8 bytes of data that bring their flag along, so who sees the flag has
// the data. Nothing is ordered behind anything else: no fence before the flag, no barrier behind
// the poll. It takes twice the bytes and half the time of a small message. (The idea is NCCL's
// protocol LL.)
//
// A packet says nothing about other memory. Its slot is symmetric memory that begins as zeros and
// holds nothing but packets; a flag is not 0, and differs from all that the slot has held before.
// Before a packet is sent to a slot again, its owner must be known to have taken the last one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/context.hpp>

namespace weft::dev {

// 16 bytes, stored at once: 4 of data and the flag, twice.
struct alignas(16) LLPacket {
  std::uint64_t words[2];
};
inline constexpr std::size_t kLLPacketBytes = 8;  // of data

inline namespace WEFT_TARGET {

// By one thread, to a slot that it can store to: ctx.ptr(place, pe).
WEFT_DEVICE_CALL void send_ll(LLPacket* place, std::uint64_t data, std::uint32_t flag);

// A packet of mine that `pe` sends; `place` null: none.
struct AwaitedLL {
  const LLPacket* place;
  int pe;
};
// By one thread: data[k] of awaited(k), which is an AwaitedLL, for each k below kMany. All are
// asked for before the first is looked at, since each takes as long as the others. False: the
// deadline passed, which is reported with `where`, the PE, and the flag that was seen.
template <int kMany, class GetAwaited>
WEFT_DEVICE_CALL bool receive_ll(const Context& ctx, const char* where, GetAwaited awaited,
                                 std::uint32_t flag, std::uint64_t (&data)[kMany]);

// A message as units of kLLPacketBytes, the last of which may be short (it is filled up with
// zeros), at any address.
WEFT_HOST_DEVICE constexpr std::size_t packed_units(std::size_t bytes) {
  return (bytes + kLLPacketBytes - 1) / kLLPacketBytes;
}
WEFT_DEVICE_CALL std::uint64_t load_unit(const std::byte* message, std::size_t bytes,
                                         std::size_t index);
WEFT_DEVICE_CALL void store_unit(std::byte* message, std::size_t bytes, std::size_t index,
                                 std::uint64_t unit);

}  // namespace WEFT_TARGET
}  // namespace weft::dev
