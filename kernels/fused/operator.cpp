#include "kernels/fused/operator.hpp"

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels::fused {

Status Operator::run(Stream stream, const GemmCall& call, std::int64_t rows) const {
  RETURN_IF_ERROR(setting_.check_call(call, rows));
  if (call.m == 0 || (setting_.problem.n == 0 && call.gathered == nullptr)) return Status::ok();
  return strategies_.run(stream, call);
}

std::string Operator::describe() const {
  const GemmProblem& p = setting_.problem;
  return fmt::format("{} m={} n={} k={} {} of {} PEs: {}", name_, p.m, p.n, p.k, to_string(p.dtype),
                     setting_.agreement.team_size, strategies_.describe());
}

}  // namespace weft::kernels::fused
