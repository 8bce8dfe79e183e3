// The order in which a member computes the tiles of all members' rows: a scheduler of the GEMM's
// kernel (kernels/gemm/tile_scheduler.hpp).
//
// The others' tiles come first, from the next rank on round, so that at any time all send to
// different members: owner by owner, or round robin, a tile of each. Mine come last, since I need
// the others' parts of them; but while the last of the others' tiles are computed, every so many of
// them one is mine already, one that the others computed `margin` tiles before: or else, with two
// members, half of the time would have to carry all that is sent.
//
// Deadlock freedom: a member at step p of its order waits only for work that the others do before
// their step p, and all blocks of a grid run at once and go through the steps in order.
#pragma once

#include "kernels/gemm/tile_scheduler.hpp"

namespace weft::kernels::gemm_rs {

struct ScatterScheduler {
  gemm::TileScheduler<false> segment;  // the tiles of one member's rows
  int segments, mine;                  // members, and my rank
  int margin;                          // tiles, from 1 to a segment's
  bool is_round_robin;                 // the owners

  WEFT_HOST_DEVICE bool has(int index) const {
    return index < segments * segment.rows * segment.columns;
  }
  WEFT_HOST_DEVICE bool work(int index, int rank, gemm::Work* work) const {
    if (!has(index)) return false;
    const int tiles = segment.rows * segment.columns, owners = segments - 1;
    const int others = owners * tiles;                           // tiles of the others
    const int mixed = segments > 1 ? tiles - margin : 0;         // of mine among them
    const int first = is_round_robin ? margin : others - mixed;  // where that begins
    int before = index < others + mixed ? 0 : index - others;    // of mine, before this step
    bool is_mine = index >= others + mixed;
    if (!is_mine && mixed > 0 && index >= first) {
      const int group = (others - first) / mixed + 1, at = index - first;  // the last one is mine
      before = at / group < mixed ? at / group : mixed;
      is_mine = before < mixed && at % group == group - 1;
    }
    int tile = before, step = 0;
    if (!is_mine) {
      const int number = index - before;  // of the others' tiles
      tile = is_round_robin ? number / owners : number % tiles;
      step = 1 + (is_round_robin ? (number + tile) % owners : number / tiles);
    }
    segment.work(tile, rank, work);
    work->segment = mine + step < segments ? mine + step : mine + step - segments;
    return true;
  }
};

}  // namespace weft::kernels::gemm_rs
