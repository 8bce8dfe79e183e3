// The parts of an AgGemm: the checks of its calls, and the strategies by which they go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <weft/kernels/ag_gemm.hpp>

#include "kernels/core/strategy.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::ag_gemm {

class Impl {
 public:
  static Result<std::unique_ptr<Impl>> create(Runtime& runtime, const Team& team,
                                              const GemmProblem& problem,
                                              const AgGemmOptions& options);

  Status run(Stream stream, const fused::GemmCall& call) const;
  std::string describe() const;
  std::size_t workspace_bytes() const { return strategies_.workspace_bytes(); }
  std::int64_t most_rows() const { return setting_.problem.m; }

 private:
  explicit Impl(const fused::Setting& setting) : setting_(setting) {}

  const fused::Setting setting_;
  Strategies<fused::GemmCall> strategies_;
};

}  // namespace weft::kernels::ag_gemm
