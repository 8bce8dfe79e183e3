// OneKernel: calls of GemmRs and GemmAr of few rows that go in one kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>

#include "kernels/core/strategy.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_plan.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel_target.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::gemm_rs {

class OneKernel final : public Strategy<fused::GemmCall> {
 public:
  // `device`: what all PEs have, of one_kernel_device_model(). `scatters`: each member gets its
  // rows of the sum, as of a GemmRs, or all of it, as of a GemmAr. Null: no call goes so.
  // kUnsupported: all should, and cannot.
  static Result<std::unique_ptr<OneKernel>> create(const fused::Setting& setting,
                                                   const DeviceModel& device, fused::Which which,
                                                   bool scatters);

  bool applies(const fused::GemmCall& call) const override {
    return call.m <= most_ && (!takes_whole_tiles_ || are_whole_tiles(call.m));
  }
  std::size_t workspace_bytes() const override {
    return kWorkspaceAlignment + space().all_words() * sizeof(std::uint64_t);
  }
  Status bind(Runtime& runtime, std::byte* workspace) override;
  Status run(Stream stream, const fused::GemmCall& call) override {
    return target_->run(stream, members_, call.c, call.a, call.b, static_cast<int>(call.m));
  }
  std::string describe() const override;

 private:
  OneKernel(const fused::Setting& setting, std::int64_t most, bool takes_whole_tiles,
            std::unique_ptr<OneKernelTarget> target)
      : team_(setting.team),
        size_(setting.agreement.team_size),
        most_(most),
        takes_whole_tiles_(takes_whole_tiles),
        target_(std::move(target)) {}
  OneKernelSpace space() const;

  const Team team_;
  const int size_;
  const std::int64_t most_;  // rows
  const bool takes_whole_tiles_;
  const std::unique_ptr<OneKernelTarget> target_;
  OneKernelMembers members_{};
};

}  // namespace weft::kernels::gemm_rs
