#include "kernels/gemm/arguments.hpp"

#include <limits>

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels::gemm {
namespace {

constexpr std::int64_t kUnit = 8;  // elements of 16 bytes
// Rows and columns are counted in an int, with room for a tile beyond the edge.
constexpr std::int64_t kMost = std::numeric_limits<int>::max() - 4096;

Status check_size(const char* who, const char* name, std::int64_t size) {
  if (0 <= size && size <= kMost) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: {} is {}; it has to be from 0 to {}", who, name, size, kMost));
}

Status check_stride(const char* who, const char* name, std::int64_t stride,
                    const char* columns_name, std::int64_t columns) {
  if (stride < columns) {
    return Status::error(Code::kInvalidArgument,
                         fmt::format("{}: {} is {}, less than the {} elements of a row ({})", who,
                                     name, stride, columns, columns_name));
  }
  if (stride % kUnit != 0 || stride > kMost) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{}: {} is {} elements; rows begin at multiples of 16 bytes, so it has to be a "
                    "multiple of {}, up to {}{}",
                    who, name, stride, kUnit, kMost,
                    stride == columns ? ": give a wider one, with room behind each row" : ""));
  }
  return Status::ok();
}

}  // namespace

Result<GemmProblem> checked(const char* who, GemmProblem p) {
  RETURN_IF_ERROR(check_size(who, "m", p.m));
  RETURN_IF_ERROR(check_size(who, "n", p.n));
  RETURN_IF_ERROR(check_size(who, "k", p.k));
  if (p.dtype != DType::kBfloat16 && p.dtype != DType::kFloat16) {
    return Status::error(
        Code::kInvalidArgument,
        fmt::format("{}: dtype is {}; it has to be bfloat16 or float16", who, to_string(p.dtype)));
  }
  if (p.lda == 0) p.lda = p.k;
  if (p.ldb == 0) p.ldb = p.k;
  if (p.ldc == 0) p.ldc = p.n;
  RETURN_IF_ERROR(check_stride(who, "lda", p.lda, "k", p.k));
  RETURN_IF_ERROR(check_stride(who, "ldb", p.ldb, "k", p.k));
  RETURN_IF_ERROR(check_stride(who, "ldc", p.ldc, "n", p.n));
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
  if (options.multiprocessors >= 0) return Status::ok();
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: options.multiprocessors is {}; it has to be 0, for all, or more", who,
                  options.multiprocessors));
}

}  // namespace weft::kernels::gemm
