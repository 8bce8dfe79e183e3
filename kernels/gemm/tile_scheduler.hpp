// Which tile next: pure, the same on hosts and GPUs.
//
// A scheduler is a policy of the GEMM kernel: work(index, rank, &work) says what the block of that
// rank in its cluster does of the index-th piece of work, and false where there are no more.
// Cluster c of n takes pieces c, c + n, c + 2 n, ...
#pragma once

#include <weft/target.hpp>

namespace weft::kernels::gemm {

// A block's next piece: its first row, counted in its segment, and column of C, and which blocks of
// 64 along k.
struct Work {
  int segment;
  int row, column;
  int k_begin, k_end;
};

// Whether the kernel of tiles of that size knows of segments. The registers of the largest are
// full, and what small ones would be told besides costs their launch 0.3 us of 10.
constexpr bool has_segments(int tile_m, int tile_n) {
  return 128 * 128 <= tile_m * tile_n && tile_m * tile_n <= 256 * 160;
}

WEFT_HOST_DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Persistent clusters of blocks; tiles in raster groups of `group_rows` clusters' rows, down each
// group's columns, so that what runs at a time is a patch of C nearly as high as wide and operands
// are found in L2.
//
// C's rows may be segments of as many rows, one for each PE of a team: these are gone through one
// after the other from `first` on, and round. No tile has rows of two. Without kSegments there is
// one of them, and it costs nothing.
template <bool kSegments>
struct TileScheduler {
  int segments, first;
  int rows, columns;   // of a segment's tiles; a row is as high as a cluster's blocks together
  int group_rows;      // rows in a raster group
  int tile_m, tile_n;  // of a block
  int blocks;          // of a cluster, one above the other
  int k_blocks;

  WEFT_HOST_DEVICE bool work(int index, int rank, Work* work) const {
    int tile = index;
    work->segment = 0;
    if constexpr (kSegments) {
      const int step = index / (rows * columns);
      if (step >= segments) return false;
      work->segment = first + step < segments ? first + step : first + step - segments;
      tile -= step * (rows * columns);
    } else if (index >= rows * columns) {
      return false;
    }
    work->k_begin = 0;
    work->k_end = k_blocks;
    if (rows == 1) {  // what is below lies before the first load
      work->row = rank * tile_m;
      work->column = tile * tile_n;
      return true;
    }
    const int top = tile / (group_rows * columns) * group_rows;
    const int height = rows - top < group_rows ? rows - top : group_rows;
    const int within = tile - top * columns;
    work->row = ((top + within % height) * blocks + rank) * tile_m;
    work->column = within / height * tile_n;
    return true;
  }
};

// Tiles whose blocks of a cluster split k, as evenly as blocks of 64 allow.
struct SplitKScheduler {
  int rows, columns;  // of tiles
  int tile_m, tile_n;
  int splits;  // blocks of a cluster
  int k_blocks;

  WEFT_HOST_DEVICE bool work(int index, int rank, Work* work) const {
    if (index >= rows * columns) return false;
    work->segment = 0;
    work->row = index % rows * tile_m;
    work->column = index / rows * tile_n;
    work->k_begin = share(rank);
    work->k_end = share(rank + 1);
    return true;
  }

 private:
  // Blocks of 64 before a rank's. In 32 bits, and without a division where nothing is split: it
  // lies before the first load.
  WEFT_HOST_DEVICE int share(int rank) const {
    return splits == 1 ? k_blocks * rank : k_blocks * rank / splits;
  }
};

}  // namespace weft::kernels::gemm
