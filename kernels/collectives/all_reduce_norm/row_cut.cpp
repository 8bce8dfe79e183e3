#include "kernels/collectives/all_reduce_norm/row_cut.hpp"

#include <algorithm>

#include "kernels/collectives/limits.hpp"

namespace weft::kernels {

std::optional<RowCut> cut_rows(const RowCutProblem& p) {
  constexpr std::size_t kPair = 16;
  const unsigned chunks = chunks_of_row(p.row_bytes);
  if (chunks > kMostChunks) return {};
  RowCut cut;
  if (p.clusters) {
    const std::size_t wanted = ceil_div(std::size_t{pairs_of_part(p.row_bytes, 1)}, p.threads);
    const std::size_t most = std::min<std::size_t>(p.blocks / p.rows, kMostBlocksOfRow);
    const std::size_t split = std::clamp<std::size_t>(std::min(wanted, most), 1, chunks);
    cut.split = static_cast<unsigned>(ceil_div(chunks, ceil_div(chunks, split)));
  }
  const auto groups =
      static_cast<unsigned>(std::clamp<std::size_t>(p.blocks / cut.split, 1, p.rows));
  cut.blocks = groups * cut.split;
  const int ranks = p.two_shot ? p.team_size : 1;
  const unsigned folded = folded_by_rank(pairs_of_part(p.row_bytes, cut.split), ranks);
  const unsigned lanes = lanes_of_part(p.row_bytes, cut.split, ranks);
  if (ceil_div(p.rows, groups) * folded * kPair > p.lamport_bytes) return {};
  // A pair to a thread, if there are so many.
  cut.threads = std::min(lanes, p.gpu ? kMostThreadsOfBlock : p.threads);
  return cut;
}

}  // namespace weft::kernels
