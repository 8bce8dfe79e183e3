// Calls of a Gemm with tensors.
#include <string>

#include <fmt/format.h>

#include <weft/kernels/gemm.hpp>

#include "kernels/core/status.hpp"
#include "kernels/core/tensor_view.hpp"

namespace weft::kernels {
namespace {

// A row-major matrix, whose rows lie `stride` elements apart.
struct Matrix {
  const char* name;
  std::int64_t columns, stride;
  DType dtype;
};

Status check(const Matrix& as, const ConstTensorView& view, std::int64_t rows) {
  const bool fits = view.rank == 2 && view.dtype == as.dtype && view.shape[0] == rows &&
                    view.shape[1] == as.columns && (as.columns <= 1 || view.strides[1] == 1) &&
                    (rows <= 1 || view.strides[0] == as.stride);
  if (fits) return Status::ok();
  const std::string is = view.rank < 0 || view.rank > view.kMostRank
                             ? fmt::format("of {} dimensions", view.rank)
                             : to_string(view);
  return Status::error(Code::kInvalidArgument,
                       fmt::format("Gemm: {} is {}, but should be [{}, {}] of {}, strides [{}, 1]",
                                   as.name, is, rows, as.columns, to_string(as.dtype), as.stride));
}

}  // namespace

Status Gemm::operator()(Stream stream, const TensorView& c, const ConstTensorView& a,
                        const ConstTensorView& b, const GemmScales& scales) {
  const GemmProblem& p = problem_;
  const DType of_c = p.dtype == DType::kFloat8E4m3 ? DType::kBfloat16 : p.dtype;
  const std::int64_t m = c.rank == 2 ? c.shape[0] : 0;
  const auto checked = [&]() -> Status {
    RETURN_IF_ERROR(check({"c", p.n, p.ldc, of_c}, c, m));
    RETURN_IF_ERROR(check({"a", p.k, p.lda, p.dtype}, a, m));
    return check({"b", p.k, p.ldb, p.dtype}, b, p.n);
  }();
  if (!checked.is_ok()) return report(checked);
  return (*this)(stream, c.data, a.data, b.data, m, scales);
}

}  // namespace weft::kernels
