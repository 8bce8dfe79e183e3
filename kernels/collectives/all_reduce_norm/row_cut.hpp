// How blocks share the rows of an AllReduceNorm by Lamport (lamport.hpp).
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/core/math.hpp"

namespace weft::kernels {

inline constexpr unsigned kMostBlocksOfRow = 8;  // of a cluster, on any GPU that has them

// Pairs of units that each block of a row has: whole chunks. A pair is a thread's, a chunk a
// warp's.
WEFT_HOST_DEVICE constexpr unsigned pairs_of_part(std::size_t row_bytes, unsigned split) {
  return static_cast<unsigned>(units_of_part(row_bytes, split) / 2);
}
// The pairs of a part that each of so many ranks folds, in whole chunks; and those of all ranks.
WEFT_HOST_DEVICE constexpr unsigned folded_by_rank(unsigned part, int ranks) {
  constexpr unsigned kPairs = kUnitsOfChunk / 2;
  return static_cast<unsigned>(ceil_div(part / kPairs, static_cast<unsigned>(ranks))) * kPairs;
}
// `ranks`: those that fold, all in two shots, in one 1.
WEFT_HOST_DEVICE constexpr unsigned lanes_of_part(std::size_t row_bytes, unsigned split,
                                                  int ranks) {
  return folded_by_rank(pairs_of_part(row_bytes, split), ranks) * static_cast<unsigned>(ranks);
}

struct RowCutProblem {
  std::size_t rows = 1, row_bytes = 0;
  int team_size = 1;
  bool two_shot = false;
  unsigned blocks = 1;    // at most
  unsigned threads = 1;   // of a block, if more blocks can share a row
  bool clusters = false;  // blocks can
  bool gpu = false;
  std::size_t lamport_bytes = 0;  // what a channel has room for, from a member
};
struct RowCut {
  unsigned split = 1, blocks = 1, threads = 1;
};
// Nothing: the channel has too little room, or a row too many chunks.
std::optional<RowCut> cut_rows(const RowCutProblem& problem);

}  // namespace weft::kernels
