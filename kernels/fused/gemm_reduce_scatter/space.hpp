// The memory that the kernels of one GemmRs share with their peer blocks on the other members.
// Plain data.
//
// A round is a call. In each, every member sends all others a part of the sum: tile by tile, into
// staging that they have twice, for even and odd rounds, and sets a flag behind each tile to the
// round's number. A member that ends round r has had flags of round r from all, so all had begun it
// and left round r - 1: what they have in staging of that parity may be overwritten in round r + 1.
// No barrier, and nothing is ever reset.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/target.hpp>

namespace weft::kernels::gemm_rs {

inline constexpr int kMostMembers = 8;

// The record that a member keeps from call to call.
struct alignas(64) Record {
  std::uint64_t round = 0;         // the last one that is over
  std::uint64_t failed_round = 0;  // the round in which a wait failed: out of step from then on
  std::uint32_t leaving = 0;       // who is done with this round; wraps to 0 by itself
};

// All offsets are the same on every member.
struct Space {
  Record* record = nullptr;        // nobody else's
  std::byte* staging = nullptr;    // [parity][sender][tile]
  std::uint64_t* flags = nullptr;  // [sender][tile][part of it]: the last round that it came in
  std::uint64_t slot_bytes = 0;    // of a sender in a round
  std::uint64_t slot_flags = 0;
  std::int32_t senders = 0;  // the other members

  WEFT_HOST_DEVICE std::byte* slot(std::uint64_t round, int sender) const {
    return staging + ((round & 1) * static_cast<std::uint64_t>(senders) +
                      static_cast<std::uint64_t>(sender)) *
                         slot_bytes;
  }
  WEFT_HOST_DEVICE std::uint64_t* flag(int sender, std::uint64_t number) const {
    return flags + static_cast<std::uint64_t>(sender) * slot_flags + number;
  }
};

// Which of `to`'s senders `from` is, in a team of `size`.
WEFT_HOST_DEVICE int sender_number(int from, int to, int size) {
  return from > to ? from - to - 1 : from - to - 1 + size;
}

}  // namespace weft::kernels::gemm_rs
