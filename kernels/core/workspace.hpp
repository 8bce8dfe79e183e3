// Workspace: the symmetric memory of one operator, as its kernels know it. Plain data.
//
// A block of a grid is a channel: block b of every member talks to block b of the others, and waits
// for these twins only. A channel counts rounds; in each, every block sends something to every twin
// and takes something from each. So who has heard round r - 1 of a twin knows that it has left
// round r - 2, and what it has in staging of that round's parity may be overwritten: no barrier
// before a call or behind it, and nothing is ever reset. The counts lie in memory that the block
// reads when it begins and writes when it ends, so that a graph replays with the same arguments.
//
// In bulk a block sends up to kBulkAhead - 1 rounds ahead of what it takes, so that the links have
// something to do meanwhile: it puts round r once it has taken all up to r - kBulkAhead. Its twin
// had taken all up to r - 2 kBulkAhead when it put that one, so there are twice as many places.
// Places are large, and nobody sends to himself: so the sender d ranks before has the (d - 1)-th.
// So have words.
//
// A packet orders nothing but itself, so packets and bulk puts have rounds and staging apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/packet.hpp>

namespace weft::kernels {

inline constexpr unsigned kBulkAhead = 3, kBulkPlaces = 2 * kBulkAhead;

// What a block keeps from call to call.
struct alignas(64) Rounds {
  std::uint32_t packets = 0;  // the last round that is over; 0: none yet
  std::uint32_t words = 0;    // the same of words
  std::uint32_t broken = 0;   // a wait failed: the twins are out of step, and it stays so
  std::uint64_t bulk = 0;
  std::uint64_t sums = 0;  // AllReduceNorm: of all blocks the same
};

// AllToAllV: what a block tells a twin in a call's first round.
struct BulkHeader {
  std::uint64_t count;  // elements for it
  // In bulk of the largest message for anybody; into symmetric memory where in my `out` what comes
  // from it is to lie.
  std::uint64_t bytes;
};

// All offsets are the same on every member.
struct Workspace {
  Rounds* rounds = nullptr;          // [channel]; nobody else's
  dev::Packet* packets = nullptr;    // [parity][channel][rank of the sender][packet_slot]
  std::uint64_t* words = nullptr;    // [parity][channel][sender, by distance][word_slot]
  std::byte* staging = nullptr;      // [place][channel][sender, by distance][bulk_slot]
  BulkHeader* headers = nullptr;     // [place][channel][sender, by distance]; AllToAllV only
  std::uint64_t* signals = nullptr;  // [place][channel][sender, by distance]: its bulk round
  dev::Packet* sums = nullptr;       // [parity][channel][chunk of a row]; AllReduceNorm only
  std::uint32_t channels = 0;
  std::uint32_t packet_slot = 0;  // packets; 0: none
  std::uint32_t word_slot = 0;    // words, a multiple of 2, and of 3 for any data; 0: none
  std::uint32_t bulk_slot = 0;    // bytes, a multiple of 16
};

}  // namespace weft::kernels
