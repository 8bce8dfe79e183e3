// Overlap: the product beside the push of rows, as a target does it.
#pragma once

#include <memory>
#include <string>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>

#include "kernels/ag_gemm/call.hpp"

namespace weft::kernels::ag_gemm {

class Overlap {
 public:
  virtual ~Overlap() = default;
  // c[count * rows, n] of the push's gathering, whose rows of mine are at `a`.
  virtual Status run(const PushCall& push, Stream stream, void* c, const void* a,
                     const void* b) = 0;
  virtual std::string describe() const = 0;
};

// problem.m: rows of a segment.
Result<std::unique_ptr<Overlap>> make_host_overlap(const GemmProblem& problem, int segments,
                                                   unsigned push_blocks);
// On the current GPU.
Result<std::unique_ptr<Overlap>> make_gpu_overlap(const GemmProblem& problem, int segments,
                                                  unsigned push_blocks, const GemmOptions& options);
// Multiprocessors of the current GPU that a product beside a push has to share with it; 0: none has
// kernels that can.
Result<int> gpu_multiprocessors(const GemmOptions& options);

}  // namespace weft::kernels::ag_gemm
