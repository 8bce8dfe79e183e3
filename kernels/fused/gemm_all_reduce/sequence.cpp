#include "kernels/fused/gemm_all_reduce/sequence.hpp"

#include "kernels/core/status.hpp"

namespace weft::kernels::gemm_ar {

Result<std::unique_ptr<GemmThenAllReduce>> GemmThenAllReduce::create(
    Runtime& runtime, const fused::Setting& setting) {
  const GemmProblem& p = setting.problem;
  auto gemm = Gemm::create(runtime, p, setting.options);
  if (!gemm) return std::move(gemm).status();
  const std::int64_t stride = fused::packed_stride(p.n);
  std::unique_ptr<GemmThenAllReduce> made(new GemmThenAllReduce(std::move(*gemm), stride));
  if (setting.agreement.team_size == 1) return made;
  ASSIGN_OR_RETURN(made->reduce_,
                   setting.collective<ReduceImpl>(runtime, Collective::kAllReduce,
                                                  static_cast<std::size_t>(p.m * stride)));
  return made;
}

Status GemmThenAllReduce::run(Stream stream, const fused::GemmCall& call) {
  RETURN_IF_ERROR(gemm_(stream, call.c, call.a, call.b, call.m));
  if (reduce_ == nullptr) return Status::ok();
  return reduce_->run(stream, call.c, call.c, static_cast<std::size_t>(call.m * stride_));
}

OverlappedThenAllGather::OverlappedThenAllGather(const fused::Setting& setting,
                                                 std::unique_ptr<gemm_rs::Overlapped> overlapped,
                                                 std::unique_ptr<MoveImpl> gather)
    : team_(setting.team),
      p_(setting.problem),
      overlapped_(std::move(overlapped)),
      gather_(std::move(gather)) {
  parts_.add(overlapped_->workspace_bytes());
  parts_.add(gather_->workspace_bytes());
}

Result<std::unique_ptr<OverlappedThenAllGather>> OverlappedThenAllGather::create(
    Runtime& runtime, const fused::Setting& setting,
    std::unique_ptr<gemm_rs::Overlapped> overlapped) {
  std::unique_ptr<OverlappedThenAllGather> made;
  if (overlapped == nullptr) return made;
  const GemmProblem& p = setting.problem;
  ASSIGN_OR_RETURN(auto gather, setting.collective<MoveImpl>(
                                    runtime, Collective::kAllGather,
                                    static_cast<std::size_t>(p.m / setting.agreement.team_size *
                                                             fused::packed_stride(p.n))));
  made.reset(new OverlappedThenAllGather(setting, std::move(overlapped), std::move(gather)));
  return made;
}

Status OverlappedThenAllGather::bind(Runtime& runtime, std::byte* workspace) {
  RETURN_IF_ERROR(overlapped_->bind(runtime, workspace + parts_.offset(0)));
  return gather_->bind(runtime, workspace + parts_.offset(1));
}

Status OverlappedThenAllGather::run(Stream stream, const fused::GemmCall& call) {
  const auto share = static_cast<std::size_t>(call.m / team_.size * fused::packed_stride(p_.n));
  fused::GemmCall mine = call;
  mine.c = static_cast<std::byte*>(call.c) +
           static_cast<std::size_t>(team_.rank) * share * bytes_of(p_.dtype);
  RETURN_IF_ERROR(overlapped_->run(stream, mine));
  return gather_->run(stream, call.c, mine.c, share);
}

}  // namespace weft::kernels::gemm_ar
