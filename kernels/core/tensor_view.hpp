// Checks of the tensors that a call is given.
#pragma once

#include <cstddef>
#include <string>

#include <weft/kernels/tensor_view.hpp>
#include <weft/result.hpp>

namespace weft::kernels {

// A tensor without gaps of `dtype`; its elements. `who`, `argument`: for the text of a refusal.
Result<std::size_t> elements_of(const std::string& who, const char* argument, DType dtype,
                                const ConstTensorView& view);
// Those of `out` and `in` for a call of `count` elements, of which out has `out_times` as many and
// in `in_times`: returns count.
Result<std::size_t> count_of(const std::string& who, DType dtype, const ConstTensorView& out,
                             std::size_t out_times, const ConstTensorView& in,
                             std::size_t in_times);
// "[2, 3] of float32, strides [3, 1]".
std::string to_string(const ConstTensorView& view);

}  // namespace weft::kernels
