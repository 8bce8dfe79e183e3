// AllReduce with what a transformer has behind it: the residual is added, and each row is normed by
// its root mean square (RMSNorm, arXiv 1910.07467). One kernel instead of three, and the sums go
// through memory once.
//
//   auto norm = weft::kernels::AllReduceNorm::create(runtime, {.max_rows = 256, .hidden = 8192});
//   status = (*norm)(stream, out, residual_out, in, residual, weight, rows);
//
// With every matrix row-major and [rows, hidden], weight [hidden], all of one type:
//   residual_out = in of all members + residual
//   out = residual_out / sqrt(mean over the row of residual_out^2 + epsilon) * weight
//
// Rounding: the members' `in` are added up in rank order, then residual, as float, and the sum is
// rounded once to residual_out. The norm is that of residual_out as it was rounded, computed in
// float and rounded once; a row's squares are added up in an order that `hidden` alone decides. So
// results are the same bits on every member, by every algorithm and in every run.
//
// All that collectives.hpp says of collectives holds here, too.
#pragma once

#include <cstddef>

#include <weft/kernels/collectives.hpp>

namespace weft::kernels {

struct AllReduceNormProblem {
  std::size_t max_rows = 0;        // of the largest call
  std::size_t hidden = 0;          // elements of a row, 1 or more
  DType dtype = DType::kBfloat16;  // kFloat32, kFloat16 or kBfloat16
  float epsilon = 1e-6f;
};

// plan(count) takes elements: rows * hidden.
class WEFT_API AllReduceNorm : public CollectiveOperator {
 public:
  static Result<AllReduceNorm> create(Runtime& runtime, const AllReduceNormProblem& problem,
                                      const CollectiveOptions& options = {});
  static Result<AllReduceNorm> create(Runtime& runtime, const Team& team,
                                      const AllReduceNormProblem& problem,
                                      const CollectiveOptions& options = {});
  // residual and weight are the same on every member. out may be in, residual_out may be residual
  // or in; out is not residual_out. rows 0 does nothing.
  Status operator()(Stream stream, void* out, void* residual_out, const void* in,
                    const void* residual, const void* weight, std::size_t rows);
  // Tensors whose last dimension is `hidden`, but weight, which has that one alone.
  Status operator()(Stream stream, const TensorView& out, const TensorView& residual_out,
                    const ConstTensorView& in, const ConstTensorView& residual,
                    const ConstTensorView& weight);

 private:
  using CollectiveOperator::CollectiveOperator;
};

}  // namespace weft::kernels
