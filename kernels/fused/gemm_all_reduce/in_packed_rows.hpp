// InPackedRows: other strategies for a C whose rows do not lie as collectives want them. They work
// on rows of the workspace, which are then copied.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <weft/runtime.hpp>
#include <weft/stream.hpp>

#include "kernels/core/copy_rows.hpp"
#include "kernels/core/strategy.hpp"
#include "kernels/fused/setting.hpp"

namespace weft::kernels::gemm_ar {

class InPackedRows final : public Strategy<fused::GemmCall> {
 public:
  // One of them applies to every call. `first` may be null.
  InPackedRows(const fused::Setting& setting, std::unique_ptr<Strategy<fused::GemmCall>> first,
               std::unique_ptr<Strategy<fused::GemmCall>> second)
      : p_(setting.problem),
        gpu_(setting.gpu),
        first_(std::move(first)),
        second_(std::move(second)) {
    parts_.add(static_cast<std::size_t>(p_.m) * row_bytes());
    parts_.add(first_ ? first_->workspace_bytes() : 0);
    parts_.add(second_->workspace_bytes());
  }

  bool applies(const fused::GemmCall&) const override { return true; }
  std::size_t workspace_bytes() const override { return parts_.bytes(); }
  Status bind(Runtime& runtime, std::byte* workspace) override {
    rows_ = workspace;
    if (first_) RETURN_IF_ERROR(first_->bind(runtime, workspace + parts_.offset(1)));
    return second_->bind(runtime, workspace + parts_.offset(2));
  }
  Status run(Stream stream, const fused::GemmCall& call) override {
    fused::GemmCall packed = call;
    packed.c = rows_;
    const auto& chosen = first_ && first_->applies(call) ? first_ : second_;
    RETURN_IF_ERROR(chosen->run(stream, packed));
    const std::size_t element = bytes_of(p_.dtype);
    return copy_rows(
        gpu_, stream,
        {call.c, rows_, static_cast<std::size_t>(call.m), static_cast<std::size_t>(p_.n) * element,
         static_cast<std::size_t>(p_.ldc) * element, row_bytes()});
  }
  std::string describe() const override {
    return first_ ? first_->describe() + "; else " + second_->describe() : second_->describe();
  }

 private:
  std::size_t row_bytes() const {
    return static_cast<std::size_t>(fused::packed_stride(p_.n)) * bytes_of(p_.dtype);
  }

  const GemmProblem p_;
  const bool gpu_;
  const std::unique_ptr<Strategy<fused::GemmCall>> first_, second_;
  WorkspaceParts parts_;
  std::byte* rows_ = nullptr;
};

}  // namespace weft::kernels::gemm_ar
