// Backend: carries out a GEMM. The operator has checked the arguments: 0 < m <= problem.m, 0 < n, 0
// < k, strides are there, pointers are aligned.
#pragma once

#include <memory>
#include <string>

#include <weft/kernels/gemm.hpp>

#include "kernels/core/target.hpp"

namespace weft::kernels::gemm {

class Backend {
 public:
  virtual ~Backend() = default;
  // scales: of e4m3 alone.
  virtual Status run(Stream stream, void* c, const void* a, const void* b, int m,
                     const GemmScales& scales) = 0;
  // c[m, n] = 0, for k == 0.
  virtual Status clear(Stream stream, void* c, int m) = 0;
  virtual std::string describe() const = 0;
};

// By the table of back ends (backends.def.hpp); Target::kCuda: on the current GPU.
Result<std::unique_ptr<Backend>> make_backend(Target target, const GemmProblem& problem,
                                              const GemmOptions& options);

}  // namespace weft::kernels::gemm
