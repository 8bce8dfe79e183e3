// Workspace: the symmetric memory of one operator, as its kernels know it. Plain data.
//
// A block of a grid is a channel: block b of every member exchanges with block b of the others, and
// waits for these peer blocks only. A channel counts rounds; in each, every block sends something
// to every peer block and takes something from each. So who has received round r - 1 from a peer
// block knows that it has left round r - 2, and what it has in staging of that round's parity may
// be overwritten: no barrier before a call or behind it, and nothing is ever reset. The counts lie
// in memory that the block reads when it begins and writes when it ends, so that a graph replays
// with the same arguments.
//
// By Simple a block sends up to kSimpleAhead - 1 rounds ahead of what it takes, so that the links
// have something to do meanwhile: it puts round r once it has taken all up to r - kSimpleAhead. Its
// peer block had taken all up to r - 2 kSimpleAhead when it put that one, so there are twice as
// many slots. Slots are large, and nobody sends to himself: so the sender d ranks before has the (d
// - 1)-th. Lamport has its slots in the same order.
//
// An LL packet orders nothing but itself, so LL and Simple have rounds and staging apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/ll.hpp>

namespace weft::kernels {

inline constexpr unsigned kSimpleAhead = 3, kSimpleSlots = 2 * kSimpleAhead;

// The counts that a block keeps from call to call.
struct alignas(64) Rounds {
  std::uint32_t ll = 0;       // LL: the last round that is over; 0: none yet
  std::uint32_t lamport = 0;  // the same of Lamport
  std::uint32_t failed = 0;   // a wait failed: the peer blocks are out of step, and it stays so
  std::uint64_t simple = 0;
  std::uint64_t sums = 0;  // AllReduceNorm: of all blocks the same
};

// The header that a block sends a peer block in a call's first round, where only kernels know how
// large messages are.
struct SimpleHeader {
  std::uint64_t count;  // elements for it
  // Simple: bytes of the largest message for anybody. Zero copy: where in my `out` what comes from
  // the peer block is to lie.
  std::uint64_t bytes;
};

// All offsets are the same on every member.
struct Workspace {
  Rounds* rounds = nullptr;                // [channel]; nobody else's
  dev::LLPacket* ll_packets = nullptr;     // [parity][channel][rank of the sender][ll_slot]
  std::uint64_t* lamport_words = nullptr;  // [parity][channel][sender, by distance][lamport_slot]
  std::byte* simple_staging = nullptr;     // [slot][channel][sender, by distance][simple_slot]
  SimpleHeader* headers = nullptr;         // [slot][channel][sender, by distance]; or none
  std::uint64_t* signals = nullptr;        // [slot][channel][sender, by distance]: its round
  dev::LLPacket* sums = nullptr;           // [parity][channel][chunk of a row]; AllReduceNorm only
  std::uint32_t channels = 0;
  std::uint32_t ll_slot = 0;       // packets; 0: none
  std::uint32_t lamport_slot = 0;  // words, a multiple of 2, and of 3 for any data; 0: none
  std::uint32_t simple_slot = 0;   // bytes, a multiple of 16
};

}  // namespace weft::kernels
