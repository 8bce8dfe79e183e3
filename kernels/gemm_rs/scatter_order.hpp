// In which order a member computes the tiles of all members' rows: an order of the GEMM's kernel
// (kernels/gemm/tile_order.hpp).
//
// Those of the others first, from the next rank on round, so that at any time all send to
// different members. Mine last, for which I need theirs; but while the last of the others' tiles
// are computed, every second one is mine already, those that the others computed `margin` tiles
// before: or else, with two members, half of the time would have to carry all that is sent.
//
// Whoever waits in place p of its order waits for what others do in places before p: as all blocks
// of a grid run at once and go through places as they come, nobody waits for ever.
#pragma once

#include "kernels/gemm/tile_order.hpp"

namespace weft::kernels::gemm_rs {

struct ScatterOrder {
  gemm::BandedOrder<false> segment;  // the tiles of one member's rows
  int segments, mine;                // members, and my rank
  int margin;                        // tiles, from 1 to a segment's

  WEFT_HOST_DEVICE bool has(int index) const {
    return index < segments * segment.rows * segment.columns;
  }
  WEFT_HOST_DEVICE bool work(int index, int rank, gemm::Work* work) const {
    const int tiles = segment.rows * segment.columns;
    if (!has(index)) return false;
    const int mixed = segments > 1 ? tiles - margin : 0;  // of the others', and of mine
    const int first = (segments - 1) * tiles - mixed;     // where the first of mine is
    int lap = segments - 1, tile = index - first - mixed;
    if (index < first) {
      lap = index / tiles;
      tile = index - lap * tiles;
    } else if (index < first + 2 * mixed) {
      tile = (index - first) / 2;
      if ((index - first) % 2 == 1) {
        lap = segments - 2;
        tile += margin;
      }
    }
    segment.work(tile, rank, work);
    work->segment = mine + 1 + lap < segments ? mine + 1 + lap : mine + 1 + lap - segments;
    return true;
  }
};

}  // namespace weft::kernels::gemm_rs
