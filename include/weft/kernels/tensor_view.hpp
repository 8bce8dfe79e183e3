// TensorView: a tensor in a caller's memory, as frameworks describe it: where its first element is,
// of what type, its shape and its strides in elements. Operators check it against what they were
// made for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <weft/kernels/types.hpp>

namespace weft::kernels {

template <class Pointer>
struct BasicTensorView {
  static constexpr int kMostRank = 4;

  Pointer data = nullptr;
  DType dtype = DType::kFloat32;
  int rank = 0;  // dimensions, up to kMostRank
  std::array<std::int64_t, kMostRank> shape = {}, strides = {};

  constexpr BasicTensorView() = default;
  // Row-major without gaps. A shape that does not fit into kMostRank leaves the rank larger, and is
  // refused.
  constexpr BasicTensorView(Pointer first, DType type, std::initializer_list<std::int64_t> sizes)
      : data(first), dtype(type), rank(static_cast<int>(sizes.size())) {
    if (rank > kMostRank) return;
    std::int64_t stride = 1;
    for (int d = rank - 1; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      shape[at] = sizes.begin()[d];
      strides[at] = stride;
      stride *= shape[at];
    }
  }
  // A view of what may be written is one of what is read.
  template <class Other>
  constexpr BasicTensorView(const BasicTensorView<Other>& other)
      : data(other.data),
        dtype(other.dtype),
        rank(other.rank),
        shape(other.shape),
        strides(other.strides) {}
};
using TensorView = BasicTensorView<void*>;
using ConstTensorView = BasicTensorView<const void*>;

}  // namespace weft::kernels
