// Which tile next: pure, the same on hosts and GPUs.
//
// An order is a policy of the GEMM kernel: work(cluster, clusters, turn, rank, &work) says what the
// block of that rank does in its turn-th turn, and false when nothing is left. All blocks of a
// cluster agree on how many turns there are.
#pragma once

#include <weft/target.hpp>

namespace weft::kernels::gemm {

// A block's next piece: first row and column of C, and which blocks of 64 along k.
struct Work {
  int row, column;
  int k_begin, k_end;
};

WEFT_HOST_DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Persistent clusters of blocks; tiles in bands of `band` clusters' rows, down each band's columns,
// so that what runs at a time is a patch of C nearly as high as wide and operands are found in L2.
struct BandedOrder {
  int rows, columns;   // of tiles; a row is as high as the blocks of a cluster together
  int band;            // rows in a band
  int tile_m, tile_n;  // of a block
  int blocks;          // of a cluster, one above the other
  int k_blocks;

  WEFT_HOST_DEVICE bool work(int cluster, int clusters, int turn, int rank, Work* work) const {
    const int index = cluster + turn * clusters;
    if (index >= rows * columns) return false;
    const int first = index / (band * columns) * band;
    const int height = rows - first < band ? rows - first : band;
    const int within = index - first * columns;
    work->row = ((first + within % height) * blocks + rank) * tile_m;
    work->column = within / height * tile_n;
    work->k_begin = 0;
    work->k_end = k_blocks;
    return true;
  }
};

// One tile for a cluster; its blocks split k, as evenly as blocks of 64 allow.
struct SplitOrder {
  int rows;  // of tiles
  int tile_m, tile_n;
  int splits;  // blocks of a cluster
  int k_blocks;

  WEFT_HOST_DEVICE bool work(int cluster, int, int turn, int rank, Work* work) const {
    if (turn != 0) return false;
    work->row = cluster % rows * tile_m;
    work->column = cluster / rows * tile_n;
    work->k_begin = static_cast<int>(static_cast<long long>(k_blocks) * rank / splits);
    work->k_end = static_cast<int>(static_cast<long long>(k_blocks) * (rank + 1) / splits);
    return true;
  }
};

}  // namespace weft::kernels::gemm
