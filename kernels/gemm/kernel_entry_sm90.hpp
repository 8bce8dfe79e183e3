// Kernels of sm_90a that are made of gemm_kernel, as hosts call them: a table by tile for each
// type, with an entry where the operator has a kernel of that tile.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <utility>

#include <weft/kernels/types.hpp>

#include "kernels/gemm/plan.hpp"

namespace weft::kernels::sm90 {

// A and B as the copy engine sees them (TensorMaps::operands).
struct Operands {
  CUtensorMap a, b;
  int rows_a;  // of A's box
};

template <class Call>
struct KernelEntry {
  cudaError_t (*prepare)();  // once before the first run(), on each GPU
  // How many clusters of `size` blocks run at a time; after prepare().
  cudaError_t (*clusters)(int size, int* count);
  cudaError_t (*run)(const Call&);
  int box_b, box_c;           // rows of B's box, columns of C's (64 rows)
  std::uint64_t travels = 0;  // what of a tile travels, where it does: bytes, or words
};

// The entries of all tiles by number. Kernel<T, kTile> says whether there is one (kExists), and
// which (entry()).
template <class Call, template <class T, int kTile> class Kernel>
class KernelTable {
  using Entries = std::array<KernelEntry<Call>, gemm::kAllTiles>;

 public:
  template <class T>
  static const Entries& of() {
    static const Entries entries = make<T>(std::make_integer_sequence<int, gemm::kAllTiles>());
    return entries;
  }
  // For types of two bytes.
  static const Entries& of(DType dtype) {
    return dtype == DType::kBfloat16 ? of<__nv_bfloat16>() : of<__half>();
  }

 private:
  template <class T, int... kTile>
  static Entries make(std::integer_sequence<int, kTile...>) {
    return {{entry<T, kTile>()...}};
  }
  template <class T, int kTile>
  static KernelEntry<Call> entry() {
    if constexpr (Kernel<T, kTile>::kExists)
      return Kernel<T, kTile>::entry();
    else
      return {};
  }
};

}  // namespace weft::kernels::sm90
