// What the kernels of direct calls share with their twins on the other members. Plain data.
//
// A round is a call. In each, tiles travel as words (weft/device/word.hpp), each of four neighbours
// of a row, into places that every member has twice, for even and odd rounds. A word more from each
// member to each other is a greeting: so that all hear of all in every round, whoever owns what.
//
// Who has ended round r + 1 has been greeted by every other member in it, which had left round r
// before: so what they have for rounds of r's parity is free, and may be sent to in round r + 2. No
// barrier, and nothing else is ever reset.
#pragma once

#include <cstdint>

#include <weft/target.hpp>

#include "kernels/gemm_rs/space.hpp"

namespace weft::kernels::gemm_rs {

// Who adds up a word, and what becomes of the sum.
enum class Way : std::uint8_t {
  kOneShot,   // everybody gets all parts
  kTwoShots,  // the owner of a part of the tile, who sends the sum to all
  kScatter,   // the owner of the row, who keeps the sum
};

// All offsets are the same on every member.
struct DirectSpace {
  Record* record = nullptr;        // nobody else's
  std::uint64_t* words = nullptr;  // [parity][sender's rank][tile][word of it], then greetings'
  std::uint64_t slot_words = 0;    // of a sender in a round
  std::int32_t members = 0;

  WEFT_HOST_DEVICE std::uint64_t slot_offset(std::uint64_t round, int sender) const {
    return slot(round, sender) * slot_words;
  }
  WEFT_HOST_DEVICE std::uint64_t greeting_offset(std::uint64_t round, int sender) const {
    return slots() * slot_words + slot(round, sender);
  }
  std::uint64_t all_words() const { return slots() * (slot_words + 1); }

 private:
  WEFT_HOST_DEVICE std::uint64_t slots() const { return 2 * static_cast<std::uint64_t>(members); }
  WEFT_HOST_DEVICE std::uint64_t slot(std::uint64_t round, int sender) const {
    return (round & 1) * static_cast<std::uint64_t>(members) + static_cast<std::uint64_t>(sender);
  }
};

// Who adds up in two shots: on hosts a tile of that number, on GPUs a word of all threads of a
// tile. What it sends goes where its own part would.
WEFT_HOST_DEVICE int owner_of(int number, int members) { return number % members; }

// Rows of C that a member gets.
struct Rows {
  int first, count;
};
// `each`: of an owner, where rows are scattered; the last ones may have fewer, or none.
WEFT_HOST_DEVICE Rows rows_of(Way way, int rank, int each, int m) {
  if (way != Way::kScatter) return {0, m};
  const int first = rank * each < m ? rank * each : m;
  return {first, m - first < each ? m - first : each};
}

// The operator, for reports.
WEFT_HOST_DEVICE const char* name_of(bool scatters) { return scatters ? "GemmRs" : "GemmAr"; }

}  // namespace weft::kernels::gemm_rs
