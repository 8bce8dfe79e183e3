// GemmAr: an interface over gemm_ar::Impl, which reports what it returns.
#include <weft/kernels/gemm_ar.hpp>

#include <utility>

#include <weft/device/launch.hpp>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/fused/gemm_all_reduce/impl.hpp"

namespace weft::kernels {

GemmAr::GemmAr(std::unique_ptr<gemm_ar::Impl> impl) : impl_(std::move(impl)) {}
GemmAr::GemmAr(GemmAr&&) noexcept = default;
GemmAr& GemmAr::operator=(GemmAr&&) noexcept = default;
GemmAr::~GemmAr() = default;

Result<GemmAr> GemmAr::create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                              const GemmArOptions& options) {
  const RelaxedCapture relaxed(runtime);
  auto made = gemm_ar::Impl::create(runtime, team, problem, options);
  if (!made) return report(std::move(made).status());
  return GemmAr(std::move(*made));
}
Result<GemmAr> GemmAr::create(Runtime& runtime, const GemmProblem& problem,
                              const GemmArOptions& options) {
  return create(runtime, runtime.world(), problem, options);
}

Status GemmAr::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, impl_->most_rows());
}
Status GemmAr::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m) {
  detail::note_operator("GemmAr");
  return report(impl_->run(stream, {c, a, b, m}));
}

std::string GemmAr::describe() const { return impl_->describe(); }
std::size_t GemmAr::workspace_bytes() const { return impl_->workspace_bytes(); }

}  // namespace weft::kernels
