// The memory that the kernels of OneKernel share with their peer blocks on the other members.
// Plain data.
//
// A round is a call. In each, tiles travel by Lamport (weft/device/lamport.hpp), in words of four
// neighbours of a row, into slots that every member has twice, for even and odd rounds. A word more
// from each member to each other is a handshake: so that all receive from all in every round,
// whoever owns what.
//
// A member that has ended round r + 1 has had every other member's handshake of it, and these
// members had left round r before: so what they have for rounds of r's parity is free, and may be
// sent to in round r + 2. No barrier, and nothing else is ever reset.
#pragma once

#include <cstdint>

#include <weft/target.hpp>

#include "kernels/fused/gemm_reduce_scatter/space.hpp"

namespace weft::kernels::gemm_rs {

// The member that adds up a word, and what becomes of the sum.
enum class Reduction : std::uint8_t {
  kOneShot,  // everybody gets all parts
  kTwoShot,  // the owner of a part of the tile, who sends the sum to all
  kScatter,  // the owner of the row, who keeps the sum
};

// All offsets are the same on every member.
struct OneKernelSpace {
  Record* record = nullptr;        // nobody else's
  std::uint64_t* words = nullptr;  // [parity][sender's rank][tile][word of it], then handshakes'
  std::uint64_t slot_words = 0;    // of a sender in a round
  std::int32_t members = 0;

  WEFT_HOST_DEVICE std::uint64_t slot_offset(std::uint64_t round, int sender) const {
    return slot(round, sender) * slot_words;
  }
  WEFT_HOST_DEVICE std::uint64_t handshake_offset(std::uint64_t round, int sender) const {
    return slots() * slot_words + slot(round, sender);
  }
  std::uint64_t all_words() const { return slots() * (slot_words + 1); }

 private:
  WEFT_HOST_DEVICE std::uint64_t slots() const { return 2 * static_cast<std::uint64_t>(members); }
  WEFT_HOST_DEVICE std::uint64_t slot(std::uint64_t round, int sender) const {
    return (round & 1) * static_cast<std::uint64_t>(members) + static_cast<std::uint64_t>(sender);
  }
};

// The owner, which adds up in two shots: on hosts a tile of that number, on GPUs a word of all
// threads of a tile. The sum that it sends goes where its own part would.
WEFT_HOST_DEVICE int owner_of(int number, int members) { return number % members; }

// Rows of C that a member gets.
struct Rows {
  int first, count;
};
// `each`: of an owner, where rows are scattered; the last ones may have fewer, or none.
WEFT_HOST_DEVICE Rows rows_of(Reduction reduction, int rank, int each, int m) {
  if (reduction != Reduction::kScatter) return {0, m};
  const int first = rank * each < m ? rank * each : m;
  return {first, m - first < each ? m - first : each};
}

// The operator, for reports.
WEFT_HOST_DEVICE const char* name_of(bool scatters) { return scatters ? "GemmRs" : "GemmAr"; }

}  // namespace weft::kernels::gemm_rs
