// Overlapped: calls of GemmRs and GemmAr that send tiles as they come.
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
#include "kernels/fused/gemm_reduce_scatter/overlapped_target.hpp"
#include "kernels/fused/gemm_reduce_scatter/plan.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::gemm_rs {

// Whether calls whose members have so many rows each are faster so, on GPUs.
using Pays = bool(const Shape& shape, const DeviceModel& device, int tile);

// A call's c: my rows, m / team size of them.
class Overlapped final : public Strategy<fused::GemmCall> {
 public:
  // `device`: what all PEs have, of overlapped_device_model(). Null: no call goes so. kUnsupported:
  // all should, and none can.
  static Result<std::unique_ptr<Overlapped>> create(const fused::Setting& setting,
                                                    const DeviceModel& device, fused::Which which,
                                                    Pays pays);

  bool applies(const fused::GemmCall& call) const override {
    return call.m >= from_ && call.m % size_ == 0;
  }
  std::size_t workspace_bytes() const override {
    return kWorkspaceAlignment + staging_bytes() + flags() * sizeof(std::uint64_t);
  }
  Status bind(Runtime& runtime, std::byte* workspace) override;
  Status run(Stream stream, const fused::GemmCall& call) override {
    return target_->run(stream, members_, call.c, call.a, call.b, static_cast<int>(call.m / size_));
  }
  std::string describe() const override;

 private:
  Overlapped(const fused::Setting& setting, std::int64_t from,
             std::unique_ptr<OverlappedTarget> target)
      : team_(setting.team),
        size_(setting.agreement.team_size),
        from_(from),
        target_(std::move(target)) {}
  std::uint64_t senders() const { return static_cast<std::uint64_t>(size_ - 1); }
  std::uint64_t slot_bytes() const { return target_->needs().tiles * target_->needs().tile_bytes; }
  std::uint64_t slot_flags() const { return target_->needs().tiles * target_->needs().tile_flags; }
  std::uint64_t staging_bytes() const { return 2 * senders() * slot_bytes(); }
  std::uint64_t flags() const { return senders() * slot_flags(); }

  const Team team_;
  const int size_;
  const std::int64_t from_;  // rows
  const std::unique_ptr<OverlappedTarget> target_;
  Members members_{};
};

}  // namespace weft::kernels::gemm_rs
