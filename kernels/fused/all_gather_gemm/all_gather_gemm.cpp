// AgGemm: the interface over Impl, which reports what it returns.
#include <weft/kernels/ag_gemm.hpp>

#include <utility>

#include <weft/device/launch.hpp>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/fused/all_gather_gemm/impl.hpp"

namespace weft::kernels {

AgGemm::AgGemm(std::unique_ptr<ag_gemm::Impl> impl) : impl_(std::move(impl)) {}
AgGemm::AgGemm(AgGemm&&) noexcept = default;
AgGemm& AgGemm::operator=(AgGemm&&) noexcept = default;
AgGemm::~AgGemm() = default;

Result<AgGemm> AgGemm::create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                              const AgGemmOptions& options) {
  const RelaxedCapture relaxed(runtime);
  auto made = ag_gemm::Impl::create(runtime, team, problem, options);
  if (!made) return report(std::move(made).status());
  return AgGemm(std::move(*made));
}

Result<AgGemm> AgGemm::create(Runtime& runtime, const GemmProblem& problem,
                              const AgGemmOptions& options) {
  return create(runtime, runtime.world(), problem, options);
}

Status AgGemm::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, impl_->most_rows());
}

Status AgGemm::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m,
                          void* gathered) {
  detail::note_operator("AgGemm");
  return report(impl_->run(stream, {c, a, b, m, gathered}));
}

std::string AgGemm::describe() const { return impl_->describe(); }
std::size_t AgGemm::workspace_bytes() const { return impl_->workspace_bytes(); }

}  // namespace weft::kernels
