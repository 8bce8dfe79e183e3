// What the kernels of direct calls share with their twins on the other members. Plain data.
//
// A round is a call. In each, tiles travel as words (weft/device/word.hpp), into places that every
// member has twice, for even and odd rounds. In one shot a member sends its part of each tile to
// all, and adds up all parts itself. In two shots a tile has an owner, who gets the parts, and
// sends their sum to all.
//
// Who has ended round r + 1 has heard of every other member in it, which had left round r before:
// so what they have for rounds of r's parity is free, and may be sent to in round r + 2. In two
// shots that takes a tile for each member. No barrier, and nothing else is ever reset.
#pragma once

#include <cstdint>

#include <weft/target.hpp>

#include "kernels/gemm_rs/space.hpp"

namespace weft::kernels::gemm_rs {

// All offsets are the same on every member.
struct DirectSpace {
  Record* record = nullptr;        // nobody else's
  std::uint64_t* words = nullptr;  // [parity][rank of the sender, then the sums'][tile][word of it]
  std::uint64_t slot_words = 0;    // of a sender in a round
  std::int32_t members = 0;

  WEFT_HOST_DEVICE std::uint64_t slot_offset(std::uint64_t round, int sender) const {
    return ((round & 1) * (static_cast<std::uint64_t>(members) + 1) +
            static_cast<std::uint64_t>(sender)) *
           slot_words;
  }
  WEFT_HOST_DEVICE std::uint64_t* part(std::uint64_t round, int sender) const {
    return words + slot_offset(round, sender);
  }
  WEFT_HOST_DEVICE std::uint64_t* sum(std::uint64_t round) const { return part(round, members); }
  std::uint64_t all_words() const {
    return 2 * (static_cast<std::uint64_t>(members) + 1) * slot_words;
  }
};

// Who adds up a tile in two shots.
WEFT_HOST_DEVICE int owner_of(int tile, int members) { return tile % members; }

}  // namespace weft::kernels::gemm_rs
