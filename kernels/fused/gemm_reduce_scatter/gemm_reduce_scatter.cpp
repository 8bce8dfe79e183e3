// GemmRs: the strategies that it has, and its interface, which reports what they return.
#include <weft/kernels/gemm_rs.hpp>

#include <utility>

#include <fmt/format.h>

#include <weft/device/launch.hpp>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_reduce_scatter/models.hpp"
#include "kernels/fused/gemm_reduce_scatter/one_kernel.hpp"
#include "kernels/fused/gemm_reduce_scatter/overlapped.hpp"
#include "kernels/fused/gemm_reduce_scatter/rows.hpp"
#include "kernels/fused/gemm_reduce_scatter/sequence.hpp"
#include "kernels/fused/operator.hpp"

namespace weft::kernels::gemm_rs {
namespace {

constexpr const char* kName = "GemmRs";

bool pays(const Shape& shape, const DeviceModel& device, int tile) {
  return overlapped_plan(shape, device, tile).us < sequential_us(shape, device, tile);
}

Result<std::unique_ptr<fused::Operator>> create(Runtime& runtime, const Team& team,
                                                const GemmProblem& problem,
                                                const GemmRsOptions& options) {
  ASSIGN_OR_RETURN(fused::Setting setting,
                   fused::begin(runtime, kName, team, problem, options.gemm));
  ASSIGN_OR_RETURN(const Models own, own_models(setting));
  RETURN_IF_ERROR(
      fused::agree(runtime,
                   {{"options.algorithm", static_cast<std::uint64_t>(options.algorithm)},
                    given_of(options.arena)},
                   own.measures(), &setting));
  const Models models = agreed_models(setting.agreement);
  const auto which = [&](GemmRsAlgorithm all) {
    if (options.algorithm == GemmRsAlgorithm::kAuto) return fused::Which::kThatPay;
    return options.algorithm == all ? fused::Which::kAll : fused::Which::kNone;
  };
  auto made = std::make_unique<fused::Operator>("gemm_rs", setting);
  ASSIGN_OR_RETURN(auto one_kernel, OneKernel::create(setting, models.one_kernel,
                                                      which(GemmRsAlgorithm::kOneKernel), true));
  ASSIGN_OR_RETURN(auto overlapped, Overlapped::create(setting, models.overlapped,
                                                       which(GemmRsAlgorithm::kOverlapped), pays));
  ASSIGN_OR_RETURN(auto sequence, Sequence::create(runtime, setting));
  made->add(std::move(one_kernel));
  made->add(std::move(overlapped));
  made->add(std::move(sequence));
  RETURN_IF_ERROR(made->bind(runtime, options.arena));
  return made;
}

}  // namespace
}  // namespace weft::kernels::gemm_rs

namespace weft::kernels {

GemmRs::GemmRs(std::unique_ptr<fused::Operator> made) : operator_(std::move(made)) {}
GemmRs::GemmRs(GemmRs&&) noexcept = default;
GemmRs& GemmRs::operator=(GemmRs&&) noexcept = default;
GemmRs::~GemmRs() = default;

Result<GemmRs> GemmRs::create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                              const GemmRsOptions& options) {
  const RelaxedCapture relaxed(runtime);
  auto made = gemm_rs::create(runtime, team, problem, options);
  if (!made) return report(std::move(made).status());
  return GemmRs(std::move(*made));
}
Result<GemmRs> GemmRs::create(Runtime& runtime, const GemmProblem& problem,
                              const GemmRsOptions& options) {
  return create(runtime, runtime.world(), problem, options);
}

Status GemmRs::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, operator_->most_rows());
}
Status GemmRs::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m) {
  detail::note_operator("GemmRs");
  return report(operator_->run(stream, {c, a, b, m}, rows(m)));
}

std::int64_t GemmRs::rows(std::int64_t m) const {
  return gemm_rs::rows_of(operator_->setting().team, m);
}
std::string GemmRs::describe() const { return operator_->describe(); }
std::size_t GemmRs::workspace_bytes() const { return operator_->workspace_bytes(); }

}  // namespace weft::kernels
