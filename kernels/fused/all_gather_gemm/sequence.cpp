#include "kernels/fused/all_gather_gemm/sequence.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/copy_rows.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels::ag_gemm {
namespace {

// Made for less, AllGather has staging so small that what it is made for goes in two rounds.
constexpr std::size_t kLeastGatherElements = std::size_t{1} << 19;

}  // namespace

std::size_t Sequence::gathered_stride() const {
  return static_cast<std::size_t>(fused::packed_stride(p_.k)) * bytes_of(p_.dtype);
}

Result<std::unique_ptr<Sequence>> Sequence::create(Runtime& runtime, const fused::Setting& setting,
                                                   std::int64_t most) {
  const GemmProblem& p = setting.problem;
  const int size = setting.agreement.team_size;
  std::unique_ptr<Sequence> made;
  if (most == 0 && p.m > 0) return made;
  GemmProblem whole = p;
  whole.m = size * most;
  if (size > 1) whole.lda = fused::packed_stride(p.k);
  // AllGather waits for all earlier work before it lets the GEMM start early, so b is complete.
  GemmOptions options = setting.options;
  options.constant_b |= size > 1;
  auto gemm = Gemm::create(runtime, whole, options);
  if (!gemm) return std::move(gemm).status();
  made.reset(new Sequence(setting, most, std::move(*gemm)));
  if (size == 1) return made;
  const std::size_t elements = static_cast<std::size_t>(most * fused::packed_stride(p.k));
  ASSIGN_OR_RETURN(made->all_gather_,
                   setting.collective<MoveImpl>(runtime, Collective::kAllGather,
                                                std::max(elements, kLeastGatherElements)));
  made->parts_.add(static_cast<std::size_t>(whole.m) * made->gathered_stride());
  made->parts_.add(made->all_gather_->workspace_bytes());
  return made;
}

Status Sequence::bind(Runtime& runtime, std::byte* workspace) {
  rows_ = workspace;
  return all_gather_ ? all_gather_->bind(runtime, workspace + parts_.offset(1)) : Status::ok();
}

// The rows of all, close together; mine where they go, before.
Status Sequence::gather(Stream stream, std::byte* to, const std::byte* a, std::size_t rows) {
  const bool is_close = stride() == row_bytes() && gathered_stride() == row_bytes();
  const std::byte* mine = a;
  if (!is_close) {
    std::byte* const packed = to + static_cast<std::size_t>(team_.rank) * rows * gathered_stride();
    RETURN_IF_ERROR(
        copy_rows(gpu_, stream, {packed, a, rows, row_bytes(), gathered_stride(), stride()}));
    mine = packed;
  }
  return all_gather_->run(stream, to, mine, rows * gathered_stride() / bytes_of(p_.dtype));
}

Status Sequence::run(Stream stream, const fused::GemmCall& call) {
  const auto rows = static_cast<std::size_t>(call.m);
  const auto* const a = static_cast<const std::byte*>(call.a);
  auto* const gathered = static_cast<std::byte*>(call.gathered);
  const std::byte* all = a;
  if (team_.size > 1 && p_.k > 0) {
    std::byte* const to = gathered != nullptr ? gathered : rows_;
    RETURN_IF_ERROR(gather(stream, to, a, rows));
    all = to;
  } else if (gathered != nullptr && p_.k > 0) {
    RETURN_IF_ERROR(
        copy_rows(gpu_, stream, {gathered, a, rows, row_bytes(), row_bytes(), stride()}));
  }
  return gemm_(stream, call.c, all, call.b, team_.size * call.m);
}

std::string Sequence::describe() const {
  return fmt::format("{}{}", all_gather_ ? "AllGather, then " : "", gemm_.describe());
}

}  // namespace weft::kernels::ag_gemm
