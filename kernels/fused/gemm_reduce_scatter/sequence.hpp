// Sequence: calls of a GemmRs that go as a Gemm and a ReduceScatter behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>

#include "kernels/collectives/all_reduce/impl.hpp"
#include "kernels/core/strategy.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::gemm_rs {

class Sequence final : public Strategy<fused::GemmCall> {
 public:
  static Result<std::unique_ptr<Sequence>> create(Runtime& runtime, const fused::Setting& setting);

  bool applies(const fused::GemmCall&) const override { return true; }
  std::size_t workspace_bytes() const override { return parts_.bytes(); }
  Status bind(Runtime& runtime, std::byte* workspace) override;
  Status run(Stream stream, const fused::GemmCall& call) override;
  std::string describe() const override;

 private:
  Sequence(const fused::Setting& setting, Gemm gemm)
      : team_(setting.team),
        size_(setting.agreement.team_size),
        p_(setting.problem),
        gpu_(setting.gpu),
        gemm_(std::move(gemm)) {}

  const Team team_;
  const int size_;
  const GemmProblem p_;
  const bool gpu_;
  Gemm gemm_;
  std::unique_ptr<ReduceImpl> scatter_;  // null: alone
  WorkspaceParts parts_;                 // C before the sum, my rows of it, scatter_'s
  std::byte *partial_ = nullptr, *my_rows_ = nullptr;
};

}  // namespace weft::kernels::gemm_rs
