// AllGatherBuffer: rows of A that come from the PEs of a team while a GEMM already runs. Plain
// data.
//
// Every PE has `rows` rows, a segment, which come to all others
// (kernels/fused/all_gather_gemm/push.hpp) in pieces of kGatherRows rows with a flag behind each;
// and long rows in parts, so that a GEMM begins when the first columns of its rows are there,
// and ends soon after the last. A part lies close together where it arrives, to be passed on by few
// copies. A flag is set to the number of the round, which every block that has a part in it counts
// by itself, from call to call, in memory, so that a graph replays with the same arguments. Where
// grids differ from call to call, those of the GPU's products, block b of n counts for blocks b +
// n, b + 2 n, ... as well.
//
// Segments land in one of two buffers, by the round's parity. A kernel that pushes in round r has
// received round r - 1 from everybody, and who has begun that has left round r - 2, whose segments
// lay where those of round r go: no barrier, and nothing is ever reset.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/target.hpp>

namespace weft::kernels {

inline constexpr int kGatherRows = 64;
inline constexpr int kGatherColumns = 64;        // a part has a multiple of it
inline constexpr int kMostGatherColumns = 1024;  // of a part
inline constexpr int kMostGatherBlocks = 1024;   // of a grid

// How many parts rows of k columns have, as even as can be, and how many times kGatherColumns each
// part has.
constexpr int gather_parts(int k) {
  return k > kMostGatherColumns ? (k + kMostGatherColumns - 1) / kMostGatherColumns : 1;
}
constexpr int gather_part_blocks(int k) {
  const int blocks = k > 0 ? (k + kGatherColumns - 1) / kGatherColumns : 1;
  return (blocks + gather_parts(k) - 1) / gather_parts(k);
}

struct AllGatherBuffer {
  // [segment][part][piece]; null: nothing is gathered. Before them, failed_round().
  std::uint64_t* flags = nullptr;
  std::uint64_t* push_rounds = nullptr;  // [block]; nobody else's
  std::uint64_t* gemm_rounds = nullptr;  // [block]; nobody else's
  // [parity][segment][part][most rows][stride]; mine stays where it is. Behind the last column,
  // zero.
  std::byte* segments = nullptr;
  std::size_t stride = 0;  // bytes of a row in a part
  int most_rows = 0;       // of a segment, in any call
  int count = 1;           // segments
  int own = 0;             // which is mine
  int rows = 0;            // of a segment, in this call
  int pieces = 0;          // of a segment, one below the other
  int parts = 1;           // of a row
  int part_blocks = 0;     // of 64 columns in a part

  // The round in which a wait failed; 0: none.
  WEFT_HOST_DEVICE std::uint64_t* failed_round() const { return flags - 1; }
  WEFT_HOST_DEVICE std::uint64_t* flag_of(int segment, int part, int piece) const {
    return flags + (segment * parts + part) * pieces + piece;
  }
  // The bytes of that part of a row that has so many.
  WEFT_HOST_DEVICE std::size_t bytes_of_part(std::size_t row_bytes, int part) const {
    const std::size_t left = row_bytes - static_cast<std::size_t>(part) * stride;
    return left < stride ? left : stride;
  }
  // Where a part of a row is that comes in that round.
  WEFT_HOST_DEVICE std::byte* row_of(std::uint64_t round, int segment, int part, int row) const {
    const std::int64_t first_part =
        (static_cast<std::int64_t>(round & 1) * count + segment) * parts;
    return segments + static_cast<std::size_t>((first_part + part) * most_rows + row) * stride;
  }
};

}  // namespace weft::kernels
