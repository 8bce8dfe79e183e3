// Units as packets, which bring the number of their round (weft/device/packet.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/unit_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct PacketWire {
  using Place = dev::Packet;
  using Awaited = dev::Awaited;
  static constexpr bool kCounts = true;

  static WEFT_DEVICE Place* places(const Workspace& space) { return space.packets; }
  static WEFT_DEVICE std::uint32_t slot(const Workspace& space) { return space.packet_slot; }
  template <class Kept>
  static WEFT_DEVICE auto& round(Kept& rounds) {
    return rounds.packets;
  }
  static WEFT_DEVICE std::uint64_t carried(std::uint64_t data) { return data; }
  static WEFT_DEVICE void send(Place* place, std::uint64_t data, std::uint32_t round) {
    dev::send_packet(place, data, round);
  }
  template <int kMany, class GetAwaited>
  static WEFT_DEVICE bool take(const dev::Context& ctx, const char* where, GetAwaited awaited,
                               std::uint32_t round, std::uint64_t (&data)[kMany]) {
    return dev::take_packets<kMany>(ctx, where, awaited, round, data);
  }
};
using PacketChannel = UnitChannel<PacketWire>;

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
