// OverlappedTarget: the GEMM beside the push of rows, as a target does it.
#pragma once

#include <memory>
#include <string>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>

#include "kernels/fused/all_gather_gemm/call.hpp"

namespace weft::kernels::ag_gemm {

class OverlappedTarget {
 public:
  virtual ~OverlappedTarget() = default;
  // c[count * rows, n] of the push's all-gather buffer; my own rows are at `a`.
  virtual Status run(const PushCall& push, Stream stream, void* c, const void* a,
                     const void* b) = 0;
  virtual std::string describe() const = 0;
};

// As rows of WEFT_GEMM_GATHER make them (backends.def.hpp). problem.m: rows of a segment.
using MakeOverlapped = Result<std::unique_ptr<OverlappedTarget>>(const GemmProblem& problem,
                                                                 int segments, unsigned push_blocks,
                                                                 const GemmOptions& options);
#define WEFT_GEMM_GATHER(name, architectures, dtypes) MakeOverlapped make_overlapped_##name;
#include "kernels/gemm/backends.def.hpp"

// SMs of the current GPU that a GEMM beside a push has to share with it; 0: it has no kernels
// that can.
Result<int> gpu_num_sms(const GemmOptions& options);

}  // namespace weft::kernels::ag_gemm
