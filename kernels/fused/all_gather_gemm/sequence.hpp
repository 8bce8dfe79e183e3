// Sequence: calls of an AgGemm that go as an AllGather and a Gemm behind it.
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

#include "kernels/collectives/all_gather/impl.hpp"
#include "kernels/core/strategy.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::ag_gemm {

class Sequence final : public Strategy<fused::GemmCall> {
 public:
  // For calls of up to `most` rows of each.
  static Result<std::unique_ptr<Sequence>> create(Runtime& runtime, const fused::Setting& setting,
                                                  std::int64_t most);

  bool applies(const fused::GemmCall& call) const override { return call.m <= most_; }
  std::size_t workspace_bytes() const override { return parts_.bytes(); }
  Status bind(Runtime& runtime, std::byte* workspace) override;
  Status run(Stream stream, const fused::GemmCall& call) override;
  std::string describe() const override;

 private:
  Sequence(const fused::Setting& setting, std::int64_t most, Gemm gemm)
      : team_(setting.team),
        p_(setting.problem),
        gpu_(setting.gpu),
        most_(most),
        gemm_(std::move(gemm)) {}

  Status gather(Stream stream, std::byte* to, const std::byte* a, std::size_t rows);

  // Bytes of a row, and from row to row: of a, and where rows of all are.
  std::size_t row_bytes() const { return static_cast<std::size_t>(p_.k) * bytes_of(p_.dtype); }
  std::size_t stride() const { return static_cast<std::size_t>(p_.lda) * bytes_of(p_.dtype); }
  std::size_t gathered_stride() const;

  const Team team_;
  const GemmProblem p_;  // m: rows of each
  const bool gpu_;
  const std::int64_t most_;
  Gemm gemm_;
  std::unique_ptr<MoveImpl> all_gather_;  // null: alone
  WorkspaceParts parts_;                  // the rows of all, all_gather_'s
  std::byte* rows_ = nullptr;
};

}  // namespace weft::kernels::ag_gemm
