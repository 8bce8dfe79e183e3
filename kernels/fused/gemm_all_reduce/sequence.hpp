// The strategies of a GemmAr that end in a collective. C's rows lie one close behind the other,
// each of fused::packed_stride() elements.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>

#include "kernels/collectives/all_gather/impl.hpp"
#include "kernels/collectives/all_reduce/impl.hpp"
#include "kernels/core/strategy.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::gemm_ar {

// A Gemm, and an AllReduce behind it. `setting`: its problem has packed rows.
class GemmThenAllReduce final : public Strategy<fused::GemmCall> {
 public:
  static Result<std::unique_ptr<GemmThenAllReduce>> create(Runtime& runtime,
                                                           const fused::Setting& setting);

  bool applies(const fused::GemmCall&) const override { return true; }
  std::size_t workspace_bytes() const override { return reduce_ ? reduce_->workspace_bytes() : 0; }
  Status bind(Runtime& runtime, std::byte* workspace) override {
    return reduce_ ? reduce_->bind(runtime, workspace) : Status::ok();
  }
  Status run(Stream stream, const fused::GemmCall& call) override;
  std::string describe() const override {
    return gemm_.describe() + (reduce_ ? ", then AllReduce" : "");
  }

 private:
  GemmThenAllReduce(Gemm gemm, std::int64_t stride) : gemm_(std::move(gemm)), stride_(stride) {}

  Gemm gemm_;
  const std::int64_t stride_;           // elements of a row
  std::unique_ptr<ReduceImpl> reduce_;  // null: alone
};

// Tiles that go to the owners of their rows as they come, and an AllGather of the sums.
class OverlappedThenAllGather final : public Strategy<fused::GemmCall> {
 public:
  // Null if `overlapped` is.
  static Result<std::unique_ptr<OverlappedThenAllGather>> create(
      Runtime& runtime, const fused::Setting& setting,
      std::unique_ptr<gemm_rs::Overlapped> overlapped);

  bool applies(const fused::GemmCall& call) const override { return overlapped_->applies(call); }
  std::size_t workspace_bytes() const override { return parts_.bytes(); }
  Status bind(Runtime& runtime, std::byte* workspace) override;
  Status run(Stream stream, const fused::GemmCall& call) override;
  std::string describe() const override { return overlapped_->describe() + ", then AllGather"; }

 private:
  OverlappedThenAllGather(const fused::Setting& setting,
                          std::unique_ptr<gemm_rs::Overlapped> overlapped,
                          std::unique_ptr<MoveImpl> gather);

  const Team team_;
  const GemmProblem p_;
  const std::unique_ptr<gemm_rs::Overlapped> overlapped_;
  const std::unique_ptr<MoveImpl> gather_;
  WorkspaceParts parts_;
};

}  // namespace weft::kernels::gemm_ar
