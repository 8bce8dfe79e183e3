// Overlapped: calls of an AgGemm whose rows are pushed to all members beside the GEMM.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>

#include "kernels/core/strategy.hpp"
#include "kernels/fused/all_gather_gemm/call.hpp"
#include "kernels/fused/all_gather_gemm/overlapped_target.hpp"
#include "kernels/fused/all_gather_gemm/plan.hpp"
#include "kernels/fused/setting.hpp"
#include "kernels/protocol/all_gather_buffer.hpp"

namespace weft::kernels::ag_gemm {

class Overlapped final : public Strategy<fused::GemmCall> {
 public:
  static Result<std::unique_ptr<Overlapped>> create(Runtime& runtime, const fused::Setting& setting,
                                                    const Plan& plan);

  bool applies(const fused::GemmCall& call) const override { return call.m >= plan_.overlap_from; }
  std::size_t workspace_bytes() const override { return parts_.bytes(); }
  Status bind(Runtime& runtime, std::byte* workspace) override;
  Status run(Stream stream, const fused::GemmCall& call) override;
  std::string describe() const override;

 private:
  Overlapped(const fused::Setting& setting, const DeviceContext& handle, const Plan& plan,
             std::unique_ptr<OverlappedTarget> target);

  Status copy_out(Stream stream, const PushCall& push, std::byte* gathered) const;

  const Team team_;
  const GemmProblem p_;  // m: rows of each
  const bool gpu_;
  const DeviceContext handle_;
  const Plan plan_;
  const std::unique_ptr<OverlappedTarget> target_;
  AllGatherBuffer gather_buffer_;
  WorkspaceParts parts_;  // counts of rounds and flags; rows
};

}  // namespace weft::kernels::ag_gemm
