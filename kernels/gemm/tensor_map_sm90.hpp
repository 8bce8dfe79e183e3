// Matrices as the copy engine sees them: base, sizes, strides and the box of a copy.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>

#include "kernels/gemm/kernel_entry_sm90.hpp"

namespace weft::kernels::gemm {

struct MatrixView {
  const void* data;
  int segments;         // one after the other
  int rows, columns;    // of a segment
  std::int64_t stride;  // of rows, in elements
  int box_rows, box_columns;
  int apart = 0;  // rows from segment to segment; 0: as many as it has

  bool operator==(const MatrixView& o) const {
    return data == o.data && segments == o.segments && rows == o.rows && columns == o.columns &&
           stride == o.stride && box_rows == o.box_rows && box_columns == o.box_columns &&
           apart == o.apart;
  }
};

// A, of `segments` times m rows, and B of a call, and how a kernel brings them.
struct OperandViews {
  const void *a, *b;
  int segments, m;
  int tile_m, box_b;  // rows of a tile, and of B's box
};

using Encode = decltype(cuTensorMapEncodeTiled);
// The driver's function, found at run time: nothing links to libcuda.
Result<Encode*> find_encode();

// Makes maps, and keeps the last ones: a model calls an operator with the same few matrices.
class TensorMaps {
 public:
  TensorMaps(DType dtype, Encode* encode) : dtype_(dtype), encode_(encode) {}
  Status get(const MatrixView& view, CUtensorMap* map);
  // Maps of A and B, for a kernel whose boxes these are.
  Status operands(const GemmProblem& problem, const OperandViews& views, sm90::Operands* operands);

 private:
  struct Entry {
    MatrixView view{};
    CUtensorMap map;
  };
  const DType dtype_;
  Encode* const encode_;
  std::array<Entry, 12> entries_{};  // a view of null: none yet
  unsigned next_ = 0;
};

}  // namespace weft::kernels::gemm
