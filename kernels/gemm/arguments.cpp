#include "kernels/gemm/arguments.hpp"

#include <limits>

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels::gemm {
namespace {

// Rows and columns are counted in an int, with room for a tile beyond the edge.
constexpr std::int64_t kMost = std::numeric_limits<int>::max() - 4096;

Status check_size(const char* who, const char* name, std::int64_t size) {
  if (0 <= size && size <= kMost) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: {} is {}; it has to be from 0 to {}", who, name, size, kMost));
}

// unit: elements of 16 bytes.
Status check_stride(const char* who, const char* name, std::int64_t stride,
                    const char* columns_name, std::int64_t columns, std::int64_t unit) {
  if (stride < columns) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: {} is {}, less than the {} elements of a row ({})", who,
                                     name, stride, columns, columns_name));
  }
  if (stride % unit != 0 || stride > kMost) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{}: {} is {} elements; rows begin at multiples of 16 bytes, so it has to be a "
                    "multiple of {}, up to {}{}",
                    who, name, stride, unit, kMost,
                    stride == columns ? ": give a wider one, with room behind each row" : ""));
  }
  return Status::ok();
}

}  // namespace

Result<GemmProblem> checked(const char* who, GemmProblem p, bool has_scales) {
  RETURN_IF_ERROR(check_size(who, "m", p.m));
  RETURN_IF_ERROR(check_size(who, "n", p.n));
  RETURN_IF_ERROR(check_size(who, "k", p.k));
  const bool is_e4m3 = has_scales && p.dtype == DType::kFloat8E4m3;
  if (p.dtype != DType::kBfloat16 && p.dtype != DType::kFloat16 && !is_e4m3) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: dtype is {}; it has to be {}bfloat16 or float16", who,
                                     to_string(p.dtype), has_scales ? "float8_e4m3, " : ""));
  }
  if (is_e4m3 && p.k % 2 != 0) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: k is {}; of float8_e4m3 it has to be even: fill a and b "
                                     "up with zeros",
                                     who, p.k));
  }
  if (p.lda == 0) p.lda = p.k;
  if (p.ldb == 0) p.ldb = p.k;
  if (p.ldc == 0) p.ldc = p.n;
  const std::int64_t unit = is_e4m3 ? 16 : 8;
  RETURN_IF_ERROR(check_stride(who, "lda", p.lda, "k", p.k, unit));
  RETURN_IF_ERROR(check_stride(who, "ldb", p.ldb, "k", p.k, unit));
  RETURN_IF_ERROR(check_stride(who, "ldc", p.ldc, "n", p.n, 8));
  return p;
}

Status check_pointer(const char* who, const char* name, const void* pointer) {
  if (pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0) {
    return Status::ok();
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{}: {} is {}; it has to be a multiple of 16 bytes, not null",
                                   who, name, fmt::ptr(pointer)));
}

Status check_options(const char* who, const GemmOptions& options) {
  if (options.num_sms >= 0) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{}: options.num_sms is {}; it has to be 0, for all, or more",
                                   who, options.num_sms));
}

}  // namespace weft::kernels::gemm
