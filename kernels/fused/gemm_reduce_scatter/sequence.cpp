#include "kernels/fused/gemm_reduce_scatter/sequence.hpp"

#include "kernels/core/copy_rows.hpp"
#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_reduce_scatter/rows.hpp"

namespace weft::kernels::gemm_rs {

Result<std::unique_ptr<Sequence>> Sequence::create(Runtime& runtime,
                                                   const fused::Setting& setting) {
  const GemmProblem& p = setting.problem;
  const int size = setting.agreement.team_size;
  GemmProblem whole = p;
  if (size > 1) whole.ldc = fused::packed_stride(p.n);
  auto gemm = Gemm::create(runtime, whole, setting.options);
  if (!gemm) return std::move(gemm).status();
  std::unique_ptr<Sequence> made(new Sequence(setting, std::move(*gemm)));
  if (size == 1) return made;
  const auto elements =
      static_cast<std::size_t>(rows_of_each(p.m, size) * fused::packed_stride(p.n));
  const std::size_t bytes = elements * bytes_of(p.dtype);
  ASSIGN_OR_RETURN(made->scatter_,
                   setting.collective<ReduceImpl>(runtime, Collective::kReduceScatter, elements));
  made->parts_.add(static_cast<std::size_t>(size) * bytes);
  made->parts_.add(bytes);
  made->parts_.add(made->scatter_->workspace_bytes());
  return made;
}

Status Sequence::bind(Runtime& runtime, std::byte* workspace) {
  if (scatter_ == nullptr) return Status::ok();
  partial_ = workspace + parts_.offset(0);
  my_rows_ = workspace + parts_.offset(1);
  return scatter_->bind(runtime, workspace + parts_.offset(2));
}

Status Sequence::run(Stream stream, const fused::GemmCall& call) {
  if (scatter_ == nullptr) return gemm_(stream, call.c, call.a, call.b, call.m);
  const std::int64_t stride = fused::packed_stride(p_.n);
  const std::int64_t each = rows_of_each(call.m, size_), mine = rows_of(team_, call.m);
  RETURN_IF_ERROR(gemm_(stream, partial_, call.a, call.b, call.m));
  const bool is_packed = p_.ldc == p_.n && p_.n == stride && mine == each;
  RETURN_IF_ERROR(scatter_->run(stream, is_packed ? call.c : my_rows_, partial_,
                                static_cast<std::size_t>(each * stride)));
  if (is_packed) return Status::ok();
  const std::size_t element = bytes_of(p_.dtype);
  return copy_rows(
      gpu_, stream,
      {call.c, my_rows_, static_cast<std::size_t>(mine), static_cast<std::size_t>(p_.n) * element,
       static_cast<std::size_t>(p_.ldc) * element, static_cast<std::size_t>(stride) * element});
}

std::string Sequence::describe() const {
  return gemm_.describe() + (scatter_ ? ", then ReduceScatter" : "");
}

}  // namespace weft::kernels::gemm_rs
