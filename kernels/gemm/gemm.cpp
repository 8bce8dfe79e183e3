// Gemm: arguments, and which backend.
#include <weft/kernels/gemm.hpp>

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/status.hpp"
#include "kernels/core/target.hpp"
#include "kernels/gemm/backend.hpp"

namespace weft::kernels {
namespace {

constexpr std::int64_t kUnit = 8;  // elements of 16 bytes
// Rows and columns are counted in an int, with room for a tile beyond the edge.
constexpr std::int64_t kMost = std::numeric_limits<int>::max() - 4096;

Status check_size(const char* name, std::int64_t size) {
  if (0 <= size && size <= kMost) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       fmt::format("Gemm: {} is {}; it has to be from 0 to {}", name, size, kMost));
}

Status check_stride(const char* name, std::int64_t stride, const char* columns_name,
                    std::int64_t columns) {
  if (stride < columns) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("Gemm: {} is {}, less than the {} elements of a row ({})",
                                     name, stride, columns, columns_name));
  }
  if (stride % kUnit != 0 || stride > kMost) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format(
            "Gemm: {} is {} elements; rows begin at multiples of 16 bytes, so it has to be a "
            "multiple of {}, up to {}{}",
            name, stride, kUnit, kMost,
            stride == columns ? ": give a wider one, with room behind each row" : ""));
  }
  return Status::ok();
}

Result<GemmProblem> checked(GemmProblem p) {
  RETURN_IF_ERROR(check_size("m", p.m));
  RETURN_IF_ERROR(check_size("n", p.n));
  RETURN_IF_ERROR(check_size("k", p.k));
  if (p.dtype != DType::kBfloat16 && p.dtype != DType::kFloat16) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("Gemm: dtype is {}; it has to be bfloat16 or float16", to_string(p.dtype)));
  }
  if (p.lda == 0) p.lda = p.k;
  if (p.ldb == 0) p.ldb = p.k;
  if (p.ldc == 0) p.ldc = p.n;
  RETURN_IF_ERROR(check_stride("lda", p.lda, "k", p.k));
  RETURN_IF_ERROR(check_stride("ldb", p.ldb, "k", p.k));
  RETURN_IF_ERROR(check_stride("ldc", p.ldc, "n", p.n));
  return p;
}

Status check_pointer(const char* name, const void* pointer) {
  if (pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0) {
    return Status::ok();
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("Gemm: {} is {}; it has to be a multiple of 16 bytes, not null",
                                   name, fmt::ptr(pointer)));
}

Result<std::unique_ptr<gemm::Backend>> make_backend([[maybe_unused]] Target target,
                                                    const GemmProblem& problem,
                                                    const GemmOptions& options) {
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (target == Target::kCuda) return gemm::make_gpu(problem, options);
#endif
  return gemm::make_host(problem, options);
}

}  // namespace

Gemm::Gemm(const GemmProblem& problem, std::unique_ptr<gemm::Backend> backend)
    : problem_(problem), backend_(std::move(backend)) {}
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;
Gemm::~Gemm() = default;

Result<Gemm> Gemm::create(Runtime& runtime, const GemmProblem& problem,
                          const GemmOptions& options) {
  auto made = [&]() -> Result<Gemm> {
    GemmProblem complete;
    ASSIGN_OR_RETURN(complete, checked(problem));
    if (options.multiprocessors < 0) {
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("Gemm: options.multiprocessors is {}; it has to be 0, for all, "
                      "or more",
                      options.multiprocessors));
    }
    Target target{};
    ASSIGN_OR_RETURN(target, target_of(runtime));
    std::unique_ptr<gemm::Backend> backend;
    ASSIGN_OR_RETURN(backend, make_backend(target, complete, options));
    return Gemm(complete, std::move(backend));
  }();
  if (!made) return report(std::move(made).status());
  return made;
}

Status Gemm::operator()(Stream stream, void* c, const void* a, const void* b) {
  return (*this)(stream, c, a, b, problem_.m);
}

Status Gemm::operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m) {
  return report([&]() -> Status {
    if (m < 0 || m > problem_.m) {
      return Status::error(Code::kInvalidArgument,
                           fmt::format("Gemm: m is {}; it was planned for 0 to {}", m, problem_.m));
    }
    if (m == 0 || problem_.n == 0) return Status::ok();
    RETURN_IF_ERROR(check_pointer("c", c));
    if (problem_.k == 0) return backend_->clear(stream, c, static_cast<int>(m));
    RETURN_IF_ERROR(check_pointer("a", a));
    RETURN_IF_ERROR(check_pointer("b", b));
    return backend_->run(stream, c, a, b, static_cast<int>(m));
  }());
}

std::string Gemm::describe() const {
  return fmt::format("gemm m={} n={} k={} {}: {}", problem_.m, problem_.n, problem_.k,
                     to_string(problem_.dtype), backend_->describe());
}

}  // namespace weft::kernels
