// Gemm: the checks of its arguments; a back end carries it out.
#include <weft/kernels/gemm.hpp>

#include <utility>

#include <fmt/format.h>

#include <weft/device/launch.hpp>

#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"
#include "kernels/gemm/arguments.hpp"
#include "kernels/gemm/backend.hpp"

namespace weft::kernels {
namespace {

Status check_scale(DType dtype, const char* name, const float* scale) {
  const bool wanted = dtype == DType::kFloat8E4m3;
  if (wanted && scale != nullptr && reinterpret_cast<std::uintptr_t>(scale) % 4 == 0)
    return Status::ok();
  if (!wanted && scale == nullptr) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("Gemm: scales.{} is {}; with {} it has to be {}", name, fmt::ptr(scale),
                  to_string(dtype), wanted ? "a multiple of 4 bytes, not null" : "null"));
}

}  // namespace

Gemm::Gemm(const GemmProblem& problem, std::unique_ptr<gemm::Backend> backend)
    : problem_(problem), backend_(std::move(backend)) {}
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;
Gemm::~Gemm() = default;

Result<Gemm> Gemm::create(Runtime& runtime, const GemmProblem& problem,
                          const GemmOptions& options) {
  const RelaxedCapture relaxed(runtime);
  auto made = [&]() -> Result<Gemm> {
    GemmProblem complete;
    ASSIGN_OR_RETURN(complete, gemm::checked("Gemm", problem, true));
    RETURN_IF_ERROR(gemm::check_options("Gemm", options));
    Target target{};
    ASSIGN_OR_RETURN(target, target_of(runtime));
    std::unique_ptr<gemm::Backend> backend;
    ASSIGN_OR_RETURN(backend, gemm::make_backend(target, complete, options));
    return Gemm(complete, std::move(backend));
  }();
  if (!made) return report(std::move(made).status());
  return made;
}

Status Gemm::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, problem_.m);
}

Status Gemm::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m) {
  return (*this)(stream, c, a, b, m, GemmScales{});
}

Status Gemm::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m,
                        const GemmScales& scales) {
  detail::note_operator("Gemm");
  return report([&]() -> Status {
    if (m < 0 || m > problem_.m) {
      return Status::error(Code::kInvalidArgument,
                           fmt::format("Gemm: m is {}; it was planned for 0 to {}", m, problem_.m));
    }
    if (m == 0 || problem_.n == 0) return Status::ok();
    RETURN_IF_ERROR(gemm::check_pointer("Gemm", "c", c));
    if (problem_.k == 0) return backend_->clear(stream, c, static_cast<int>(m));
    RETURN_IF_ERROR(gemm::check_pointer("Gemm", "a", a));
    RETURN_IF_ERROR(gemm::check_pointer("Gemm", "b", b));
    RETURN_IF_ERROR(check_scale(problem_.dtype, "a", scales.a));
    RETURN_IF_ERROR(check_scale(problem_.dtype, "b", scales.b));
    return backend_->run(stream, c, a, b, static_cast<int>(m), scales);
  }());
}

std::string Gemm::describe() const {
  return fmt::format("gemm m={} n={} k={} {}: {}", problem_.m, problem_.n, problem_.k,
                     to_string(problem_.dtype), backend_->describe());
}

}  // namespace weft::kernels
