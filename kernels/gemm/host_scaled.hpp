// The GEMM of scaled e4m3 on host threads, as each block of a grid does it. The products of 128
// along k are added to one float, in the order of k; that, scaled, to the sum of the blocks before.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include <weft/small_float.hpp>

#include "kernels/gemm/e4m3.hpp"
#include "kernels/gemm/host_gemm.hpp"

namespace weft::kernels::gemm {

struct ScaledHostGemm {
  int m, n, k;
  std::ptrdiff_t lda, ldb, ldc;
  const E4m3 *a, *b;
  const float *scale_a, *scale_b;  // [m][blocks], [ceil(n / kScaled)][blocks]
  Bfloat16* c;

  // Every blocks-th tile.
  void multiply(unsigned block, unsigned blocks) const {
    const long long down = (m + kHostTile - 1) / kHostTile;
    const long long tiles = down * ((n + kHostTile - 1) / kHostTile);
    std::vector<float> k_block(kScaled * kHostTile), sums(kHostTile * kHostTile);
    for (long long i = block; i < tiles; i += blocks) {
      const int row = static_cast<int>(i % down) * kHostTile;
      const int column = static_cast<int>(i / down) * kHostTile;
      const int height = std::min(kHostTile, m - row), width = std::min(kHostTile, n - column);
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (int from = 0; from < k; from += kScaled) {
        transpose(k_block, column, width, from);
        for (int r = 0; r < height; ++r)
          add(&sums[r * kHostTile], k_block, row + r, column, width, from);
      }
      for (int r = 0; r < height; ++r) {
        Bfloat16* const to = c + (row + r) * ldc + column;
        for (int j = 0; j < width; ++j) to[j] = Bfloat16(sums[r * kHostTile + j]);
      }
    }
  }

 private:
  static_assert(kScaled % kHostTile == 0, "a tile has one scale of b");

  int depth(int from) const { return std::min(kScaled, k - from); }

  // Turned round, so that neighbours are columns of c.
  void transpose(std::vector<float>& k_block, int column, int width, int from) const {
    for (int j = 0; j < width; ++j)
      for (int i = 0; i < depth(from); ++i)
        k_block[i * kHostTile + j] = static_cast<float>(b[(column + j) * ldb + from + i]);
  }
  void add(float* sums, const std::vector<float>& k_block, int row, int column, int width,
           int from) const {
    std::array<float, kHostTile> part{};
    for (int i = 0; i < depth(from); ++i) {
      const float factor = static_cast<float>(a[row * lda + from + i]);
      for (int j = 0; j < width; ++j) part[j] += factor * k_block[i * kHostTile + j];
    }
    const std::ptrdiff_t q = from / kScaled, count = (k + kScaled - 1) / kScaled;
    const float scale = scale_a[row * count + q] * scale_b[column / kScaled * count + q];
    for (int j = 0; j < width; ++j) sums[j] = std::fma(part[j], scale, sums[j]);
  }
};

}  // namespace weft::kernels::gemm
