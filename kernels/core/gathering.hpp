// Gathering: rows of A that come from the PEs of a team while a product already runs. Plain data.
//
// Every PE has `rows` rows, a segment, and puts them to all others (kernels/ag_gemm/push.hpp), in
// pieces of kGatherRows rows with a flag behind each. A flag is set to the number of the round,
// which every block that has a part in it counts by itself, from call to call, in memory, so that a
// graph replays with the same arguments. Where grids differ from call to call, those of the GPU's
// products, block b of n counts for blocks b + n, b + 2 n, ... as well.
//
// Segments land in one of two buffers, by the round's parity. A kernel that pushes in round r has
// heard round r - 1 of everybody, and who has begun that has left round r - 2, whose segments lay
// where those of round r go: no barrier, and nothing is ever reset.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/target.hpp>

namespace weft::kernels {

inline constexpr int kGatherRows = 64;
inline constexpr int kMostGatherBlocks = 1024;  // of a grid

struct Gathering {
  std::uint64_t* flags = nullptr;           // [segment][piece]; null: nothing is gathered
  std::uint64_t* push_rounds = nullptr;     // [block]; nobody else's
  std::uint64_t* product_rounds = nullptr;  // [block]; nobody else's
  std::uint64_t* broken = nullptr;          // the round in which a wait failed; 0: none
  std::byte* segments = nullptr;  // [parity][segment][most rows][stride]; mine stays where it is
  std::size_t stride = 0;         // bytes from row to row
  int most_rows = 0;              // of a segment, in any call
  int count = 1;                  // segments
  int own = 0;                    // which is mine
  int rows = 0;                   // of a segment, in this call
  int pieces = 0;                 // flags of a segment

  // Where a row is that comes in that round.
  WEFT_HOST_DEVICE std::byte* row_of(std::uint64_t round, int segment, int row) const {
    const std::int64_t place = static_cast<std::int64_t>(round & 1) * count + segment;
    return segments + static_cast<std::size_t>(place * most_rows + row) * stride;
  }
};

}  // namespace weft::kernels
