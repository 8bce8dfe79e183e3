// KernelCall: the base of all collectives' kernels, and the share that a block has of a message.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/call.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Units of my block.
struct Share {
  std::size_t begin, count;
};
WEFT_DEVICE Share share_of(std::size_t units) {
  constexpr std::size_t kLine = 16;  // units
  const std::size_t blocks = dev::grid_size();
  if (blocks == 1) return {0, units};
  const std::size_t each = ((units + blocks - 1) / blocks + kLine - 1) / kLine * kLine;
  const std::size_t begin = each * dev::block_rank();
  if (begin >= units) return {0, 0};
  return {begin, units - begin < each ? units - begin : each};
}

WEFT_DEVICE std::size_t min(std::size_t a, std::size_t b) { return a < b ? a : b; }

// The same of a message of so many bytes, in bytes.
struct Span {
  std::size_t begin, bytes;
};
WEFT_DEVICE Span span_of(std::size_t bytes) {
  const Share share = share_of(dev::packed_units(bytes));
  const std::size_t begin = share.begin * dev::kLLPacketBytes;
  return {begin, share.count == 0 ? 0 : min(share.count * dev::kLLPacketBytes, bytes - begin)};
}

// A block that has more for each of the others sends so much to each after the other, and copies as
// much of what it keeps: so links have something to do meanwhile. On hosts little, so that small
// tests have several pieces.
inline constexpr std::size_t kInterleaveBytes = (WEFT_TARGET_CPU ? 1 : 64) << 10;

// The base of all kernels, those by Simple and Lamport too.
struct KernelCall {
  // Whether it starts while the kernel before is at work, and so calls wait_in_stream().
  static constexpr bool kStartsEarly = false;

  DeviceContext handle;
  Team team;
  Workspace space;
  Messages m;

  WEFT_DEVICE const std::byte* in(int rank) const {
    return m.in + static_cast<std::size_t>(rank) * m.in_stride;
  }
  WEFT_DEVICE std::byte* out(int rank) const {
    return m.out + static_cast<std::size_t>(rank) * m.out_stride;
  }
  // In a broadcast each member but the root passes a part on: how many parts there are, one at
  // least, and which is that rank's.
  WEFT_DEVICE std::size_t parts() const {
    return static_cast<std::size_t>(team.size > 1 ? team.size - 1 : 1);
  }
  static WEFT_DEVICE std::size_t part_of(int rank, int root) {
    return static_cast<std::size_t>(rank < root ? rank : rank - 1);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
