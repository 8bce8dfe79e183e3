#include "kernels/core/tensor_view.hpp"

#include <fmt/format.h>

#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

std::string list(const std::array<std::int64_t, ConstTensorView::kMostRank>& numbers, int rank) {
  std::string text;
  for (int d = 0; d < rank; ++d)
    text += fmt::format("{}{}", d == 0 ? "" : ", ", numbers[static_cast<std::size_t>(d)]);
  return "[" + text + "]";
}

// Dimensions of one element, and all of an empty tensor, have any stride.
bool has_no_gaps(const ConstTensorView& view, std::size_t elements) {
  std::int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0 && elements != 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    if (view.shape[at] != 1 && view.strides[at] != stride) return false;
    stride *= view.shape[at];
  }
  return true;
}

}  // namespace

std::string to_string(const ConstTensorView& view) {
  return fmt::format("{} of {}, strides {}", list(view.shape, view.rank), to_string(view.dtype),
                     list(view.strides, view.rank));
}

Result<std::size_t> elements_of(const std::string& who, const char* argument, DType dtype,
                                const ConstTensorView& view) {
  const auto refuse = [&](const std::string& why) {
    return Status::error(Code::kInvalidArgument, fmt::format("{}: {} {}", who, argument, why));
  };
  if (view.rank < 0 || view.rank > view.kMostRank)
    return refuse(
        fmt::format("has {} dimensions, but 0 to {} are known", view.rank, view.kMostRank));
  if (view.dtype != dtype)
    return refuse(
        fmt::format("is {}, but the operator was made for {}", to_string(view), to_string(dtype)));
  std::size_t elements = 1;
  for (int d = 0; d < view.rank; ++d) {
    const std::int64_t size = view.shape[static_cast<std::size_t>(d)];
    if (size < 0) return refuse(fmt::format("is {}: a size is negative", to_string(view)));
    if (__builtin_mul_overflow(elements, static_cast<std::size_t>(size), &elements))
      return refuse(fmt::format("is {}: more elements than memory has", to_string(view)));
  }
  if (!has_no_gaps(view, elements))
    return refuse(
        fmt::format("is {}: its elements do not lie one behind the other; copy it to a "
                    "row-major tensor first",
                    to_string(view)));
  return elements;
}

Result<std::size_t> count_of(const std::string& who, DType dtype, const ConstTensorView& out,
                             std::size_t out_times, const ConstTensorView& in,
                             std::size_t in_times) {
  ASSIGN_OR_RETURN(const std::size_t outs, elements_of(who, "out", dtype, out));
  ASSIGN_OR_RETURN(const std::size_t ins, elements_of(who, "in", dtype, in));
  if (ins % in_times == 0 && outs % out_times == 0 && outs / out_times == ins / in_times)
    return ins / in_times;
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{}: out is {} and in {}; out should have {} elements for each {} of in", who,
                  to_string(out), to_string(in), out_times, in_times));
}

}  // namespace weft::kernels
