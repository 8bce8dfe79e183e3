// GemmAr: the strategies that it has, and its interface, which reports what they return.
#include <weft/kernels/gemm_ar.hpp>

#include <utility>

#include <fmt/format.h>

#include <weft/device/launch.hpp>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_all_reduce/in_packed_rows.hpp"
#include "kernels/fused/gemm_all_reduce/sequence.hpp"
#include "kernels/fused/gemm_reduce_scatter/models.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel.hpp"
#include "kernels/fused/operator.hpp"

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

// Strategies that add up what is in memory, so the packed rows of c, if need be of a copy.
Status add_sequences(Runtime& runtime, const fused::Setting& setting, const DeviceModel& device,
                     fused::Which which, fused::Operator* made) {
  const GemmProblem& p = setting.problem;
  const std::int64_t stride = fused::packed_stride(p.n);
  const bool is_packed = p.ldc == p.n && p.n == stride;
  fused::Setting packed = setting;
  if (!is_packed && packed.agreement.team_size > 1) packed.problem.ldc = stride;
  ASSIGN_OR_RETURN(auto overlapped, gemm_rs::Overlapped::create(packed, device, which, pays));
  ASSIGN_OR_RETURN(auto gathered,
                   OverlappedThenAllGather::create(runtime, packed, std::move(overlapped)));
  ASSIGN_OR_RETURN(auto sequence, GemmThenAllReduce::create(runtime, packed));
  if (!is_packed && packed.agreement.team_size > 1) {
    made->add(std::make_unique<InPackedRows>(setting, std::move(gathered), std::move(sequence)));
    return Status::ok();
  }
  made->add(std::move(gathered));
  made->add(std::move(sequence));
  return Status::ok();
}

Result<std::unique_ptr<fused::Operator>> create(Runtime& runtime, const Team& team,
                                                const GemmProblem& problem,
                                                const GemmArOptions& options) {
  ASSIGN_OR_RETURN(fused::Setting setting,
                   fused::begin(runtime, kName, team, problem, options.gemm));
  ASSIGN_OR_RETURN(const gemm_rs::Models own, gemm_rs::own_models(setting));
  RETURN_IF_ERROR(
      fused::agree(runtime,
                   {{"options.algorithm", static_cast<std::uint64_t>(options.algorithm)},
                    given_of(options.arena)},
                   own.measures(), &setting));
  const gemm_rs::Models models = gemm_rs::agreed_models(setting.agreement);
  const auto which = [&](GemmArAlgorithm all) {
    if (options.algorithm == GemmArAlgorithm::kAuto) return fused::Which::kThatPay;
    return options.algorithm == all ? fused::Which::kAll : fused::Which::kNone;
  };
  auto made = std::make_unique<fused::Operator>("gemm_ar", setting);
  ASSIGN_OR_RETURN(auto one_kernel,
                   gemm_rs::OneKernel::create(setting, models.one_kernel,
                                              which(GemmArAlgorithm::kOneKernel), false));
  made->add(std::move(one_kernel));
  RETURN_IF_ERROR(add_sequences(runtime, setting, models.overlapped,
                                which(GemmArAlgorithm::kOverlapped), made.get()));
  RETURN_IF_ERROR(made->bind(runtime, options.arena));
  return made;
}

}  // namespace
}  // namespace weft::kernels::gemm_ar

namespace weft::kernels {

GemmAr::GemmAr(std::unique_ptr<fused::Operator> made) : operator_(std::move(made)) {}
GemmAr::GemmAr(GemmAr&&) noexcept = default;
GemmAr& GemmAr::operator=(GemmAr&&) noexcept = default;
GemmAr::~GemmAr() = default;

Result<GemmAr> GemmAr::create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                              const GemmArOptions& options) {
  const RelaxedCapture relaxed(runtime);
  auto made = gemm_ar::create(runtime, team, problem, options);
  if (!made) return report(std::move(made).status());
  return GemmAr(std::move(*made));
}
Result<GemmAr> GemmAr::create(Runtime& runtime, const GemmProblem& problem,
                              const GemmArOptions& options) {
  return create(runtime, runtime.world(), problem, options);
}

Status GemmAr::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, operator_->most_rows());
}
Status GemmAr::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m) {
  detail::note_operator("GemmAr");
  return report(operator_->run(stream, {c, a, b, m}, m));
}

std::string GemmAr::describe() const { return operator_->describe(); }
std::size_t GemmAr::workspace_bytes() const { return operator_->workspace_bytes(); }

}  // namespace weft::kernels
