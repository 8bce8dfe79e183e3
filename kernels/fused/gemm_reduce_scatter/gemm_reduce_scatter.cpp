// GemmRs: an interface over gemm_rs::Impl, which reports what it returns.
#include <weft/kernels/gemm_rs.hpp>

#include <utility>

#include <weft/device/launch.hpp>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_reduce_scatter/impl.hpp"

namespace weft::kernels {

GemmRs::GemmRs(std::unique_ptr<gemm_rs::Impl> impl) : impl_(std::move(impl)) {}
GemmRs::GemmRs(GemmRs&&) noexcept = default;
GemmRs& GemmRs::operator=(GemmRs&&) noexcept = default;
GemmRs::~GemmRs() = default;

Result<GemmRs> GemmRs::create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                              const GemmRsOptions& options) {
  const RelaxedCapture relaxed(runtime);
  auto made = gemm_rs::Impl::create(runtime, team, problem, options);
  if (!made) return report(std::move(made).status());
  return GemmRs(std::move(*made));
}
Result<GemmRs> GemmRs::create(Runtime& runtime, const GemmProblem& problem,
                              const GemmRsOptions& options) {
  return create(runtime, runtime.world(), problem, options);
}

Status GemmRs::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, impl_->most_rows());
}
Status GemmRs::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m) {
  detail::note_operator("GemmRs");
  return report(impl_->run(stream, {c, a, b, m}));
}

std::int64_t GemmRs::rows(std::int64_t m) const { return impl_->rows(m); }
std::string GemmRs::describe() const { return impl_->describe(); }
std::size_t GemmRs::workspace_bytes() const { return impl_->workspace_bytes(); }

}  // namespace weft::kernels
