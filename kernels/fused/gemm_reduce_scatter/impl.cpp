#include "kernels/fused/gemm_reduce_scatter/impl.hpp"

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_reduce_scatter/models.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped.hpp"
#include "kernels/fused/gemm_reduce_scatter/sequence.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr const char* kName = "GemmRs";

bool pays(const Shape& shape, const DeviceModel& device, int tile) {
  return overlapped_plan(shape, device, tile).us < sequential_us(shape, device, tile);
}

}  // namespace

Result<std::unique_ptr<Impl>> Impl::create(Runtime& runtime, const Team& team,
                                           const GemmProblem& problem,
                                           const GemmRsOptions& options) {
  ASSIGN_OR_RETURN(fused::Setting setting,
                   fused::begin(runtime, kName, team, problem, options.gemm));
  ASSIGN_OR_RETURN(const Models own, own_models(setting));
  RETURN_IF_ERROR(
      fused::agree(runtime, {{"options.algorithm", static_cast<std::uint64_t>(options.algorithm)}},
                   own.measures(), &setting));
  const Models models = agreed_models(setting.agreement);
  const auto which = [&](GemmRsAlgorithm all) {
    if (options.algorithm == GemmRsAlgorithm::kAuto) return fused::Which::kThatPay;
    return options.algorithm == all ? fused::Which::kAll : fused::Which::kNone;
  };
  std::unique_ptr<Impl> made(new Impl(setting));
  ASSIGN_OR_RETURN(auto one_kernel, OneKernel::create(setting, models.one_kernel,
                                                      which(GemmRsAlgorithm::kOneKernel), true));
  ASSIGN_OR_RETURN(auto overlapped, Overlapped::create(setting, models.overlapped,
                                                       which(GemmRsAlgorithm::kOverlapped), pays));
  ASSIGN_OR_RETURN(auto sequence, Sequence::create(runtime, setting));
  made->strategies_.add(std::move(one_kernel));
  made->strategies_.add(std::move(overlapped));
  made->strategies_.add(std::move(sequence));
  RETURN_IF_ERROR(made->strategies_.bind(runtime));
  return made;
}

std::string Impl::describe() const {
  const GemmProblem& p = setting_.problem;
  return fmt::format("gemm_rs m={} n={} k={} {} of {} PEs: {}", p.m, p.n, p.k, to_string(p.dtype),
                     setting_.agreement.team_size, strategies_.describe());
}

Status Impl::run(Stream stream, const fused::GemmCall& call) const {
  RETURN_IF_ERROR(setting_.check_call(call, rows(call.m)));
  if (call.m == 0 || setting_.problem.n == 0) return Status::ok();
  return strategies_.run(stream, call);
}

}  // namespace weft::kernels::gemm_rs
