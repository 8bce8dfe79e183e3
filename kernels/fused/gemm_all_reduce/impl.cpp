#include "kernels/fused/gemm_all_reduce/impl.hpp"

#include <utility>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_all_reduce/in_packed_rows.hpp"
#include "kernels/fused/gemm_all_reduce/sequence.hpp"
#include "kernels/fused/gemm_reduce_scatter/models.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel.hpp"

namespace weft::kernels::gemm_ar {
namespace {

constexpr const char* kName = "GemmAr";

bool pays(const gemm_rs::Shape& s, const DeviceModel& device, int tile) {
  const double share = 2.0 * (s.members - 1) * s.m * s.n;  // bytes that a member sends
  const double at_once = gemm_rs::overlapped_plan(s, device, tile).us +
                         gemm_rs::all_gather_us(device.links.collectives, s.members, share);
  const double sequential = gemm::plan(s.members * s.m, s.n, s.k, device, tile).us +
                            gemm_rs::all_reduce_us(device.links.collectives, s.members, share);
  return at_once < sequential;
}

}  // namespace

Status Impl::add_sequences(Runtime& runtime, const DeviceModel& device, fused::Which which) {
  const GemmProblem& p = setting_.problem;
  const std::int64_t stride = fused::packed_stride(p.n);
  const bool is_packed = p.ldc == p.n && p.n == stride;
  fused::Setting packed = setting_;
  if (!is_packed && packed.agreement.team_size > 1) packed.problem.ldc = stride;
  ASSIGN_OR_RETURN(auto overlapped, gemm_rs::Overlapped::create(packed, device, which, pays));
  ASSIGN_OR_RETURN(auto gathered,
                   OverlappedThenAllGather::create(runtime, packed, std::move(overlapped)));
  ASSIGN_OR_RETURN(auto sequence, GemmThenAllReduce::create(runtime, packed));
  if (!is_packed && packed.agreement.team_size > 1) {
    strategies_.add(
        std::make_unique<InPackedRows>(setting_, std::move(gathered), std::move(sequence)));
    return Status::ok();
  }
  strategies_.add(std::move(gathered));
  strategies_.add(std::move(sequence));
  return Status::ok();
}

Result<std::unique_ptr<Impl>> Impl::create(Runtime& runtime, const Team& team,
                                           const GemmProblem& problem,
                                           const GemmArOptions& options) {
  ASSIGN_OR_RETURN(fused::Setting setting,
                   fused::begin(runtime, kName, team, problem, options.gemm));
  ASSIGN_OR_RETURN(const gemm_rs::Models own, gemm_rs::own_models(setting));
  RETURN_IF_ERROR(
      fused::agree(runtime, {{"options.algorithm", static_cast<std::uint64_t>(options.algorithm)}},
                   own.measures(), &setting));
  const gemm_rs::Models models = gemm_rs::agreed_models(setting.agreement);
  const auto which = [&](GemmArAlgorithm all) {
    if (options.algorithm == GemmArAlgorithm::kAuto) return fused::Which::kThatPay;
    return options.algorithm == all ? fused::Which::kAll : fused::Which::kNone;
  };
  std::unique_ptr<Impl> made(new Impl(setting));
  ASSIGN_OR_RETURN(auto one_kernel,
                   gemm_rs::OneKernel::create(setting, models.one_kernel,
                                              which(GemmArAlgorithm::kOneKernel), false));
  made->strategies_.add(std::move(one_kernel));
  RETURN_IF_ERROR(
      made->add_sequences(runtime, models.overlapped, which(GemmArAlgorithm::kOverlapped)));
  RETURN_IF_ERROR(made->strategies_.bind(runtime));
  return made;
}

std::string Impl::describe() const {
  const GemmProblem& p = setting_.problem;
  return fmt::format("gemm_ar m={} n={} k={} {} of {} PEs: {}", p.m, p.n, p.k, to_string(p.dtype),
                     setting_.agreement.team_size, strategies_.describe());
}

Status Impl::run(Stream stream, const fused::GemmCall& call) const {
  RETURN_IF_ERROR(setting_.check_call(call, call.m));
  if (call.m == 0 || setting_.problem.n == 0) return Status::ok();
  return strategies_.run(stream, call);
}

}  // namespace weft::kernels::gemm_ar
