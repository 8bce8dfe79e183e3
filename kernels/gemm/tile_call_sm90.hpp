// The kernels of Gemm by tile and type, as the host sees them; each tile is compiled by itself
// (tiles/).
#pragma once

#include <type_traits>

#include "kernels/gemm/e4m3.hpp"
#include "kernels/gemm/kernel_entry_sm90.hpp"
#include "kernels/gemm/prologue_wait_sm90.hpp"
#include "kernels/gemm/shape_sm90.hpp"

namespace weft::kernels::sm90 {

// One GEMM: matrices as the copy engine sees them, and C as it is.
struct Call {
  Operands operands;
  CUtensorMap c, gathered;  // boxes as the entry says; c: not looked at where k is split
  CUtensorMap last;         // of A: box of last_rows, where they are any
  void* data;
  long long stride;
  int m, n, k;  // m: rows of a segment
  int last_rows, last_first;
  int first;                   // segment to begin with
  PrologueWait prologue_wait;  // PrologueWait(): all of A is there
  gemm::Plan plan;
  bool constant_b;  // as GemmOptions has it
  cudaStream_t stream;
  Scales scales;  // of e4m3
};

// Columns that copies store, of n; and for the map of C, which has to have some.
constexpr int copied_columns(int n) { return n / 8 * 8; }

// Defined in the tile's file (tile_sm90.hpp).
template <class T, int kTile>
KernelEntry<Call> tile_entry();

template <class T, int kTile>
struct TileKernel {
  static constexpr bool kExists = std::is_same_v<T, gemm::E4m3> == (kTile >= gemm::kFirstE4m3);
  static KernelEntry<Call> entry() { return tile_entry<T, kTile>(); }
};
using TileKernels = KernelTable<Call, TileKernel>;

}  // namespace weft::kernels::sm90
