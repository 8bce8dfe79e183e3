// The calls of AllReduceNorm: messages are rows, and each row that is there is normed.
#pragma once

#include "kernels/collectives/algorithm.hpp"
#include "kernels/collectives/all_reduce/call.hpp"

namespace weft::kernels {

// By LL and by Lamport `split` blocks share a row.
struct NormRows {
  std::byte* out = nullptr;
  const std::byte* weight = nullptr;
  std::size_t hidden = 0, row_bytes = 0;
  unsigned split = 1;
  float epsilon = 0;
};
inline constexpr unsigned kUnitsOfChunk = 64;  // of a row: what is squared and added up together
inline constexpr unsigned kMostChunks = 256;   // of a row that blocks share
WEFT_HOST_DEVICE constexpr unsigned chunks_of_row(std::size_t row_bytes) {
  return static_cast<unsigned>(ceil_div(ceil_div(row_bytes, 8), kUnitsOfChunk));
}
// Units that each block of a row has: whole chunks.
WEFT_HOST_DEVICE constexpr std::size_t units_of_part(std::size_t row_bytes, unsigned split) {
  return ceil_div(chunks_of_row(row_bytes), split) * kUnitsOfChunk;
}

struct NormCall : ReduceCall {
  NormRows norm;
};
WEFT_OF_EACH_TARGET(RunCall<NormCall> run_norm; AlgorithmSpan norm_algorithms())

}  // namespace weft::kernels
