// The GEMM on host threads, as each block of a grid does it. A sum is one float, to which the
// products are added in the order of k, however tiles are cut; so an operator that is made of it
// gives the same bits as the GEMM and what is before or behind it, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <weft/kernels/gemm.hpp>

namespace weft::kernels::gemm {

inline constexpr int kHostTile = 64;  // rows and columns

template <class T>
struct HostGemm {
  int segments, first;  // of C and A, as tile_scheduler.hpp has them
  int m, n, k;          // m: of a segment
  std::ptrdiff_t ldb, ldc;
  const T* b;
  T* c;

  // Each segment has `rows`.
  static HostGemm of(const GemmProblem& p, int rows, const void* b, void* c, int segments = 1,
                     int first = 0) {
    return {segments,
            first,
            rows,
            static_cast<int>(p.n),
            static_cast<int>(p.k),
            p.ldb,
            p.ldc,
            static_cast<const T*>(b),
            static_cast<T*>(c)};
  }

  // Every blocks-th tile. `rows`: where `height` rows of A begin, and how far apart they lie; it
  // may wait for them.
  template <class Rows>
  void multiply(const Rows& rows, unsigned block, unsigned blocks) const {
    const long long down = (m + kHostTile - 1) / kHostTile;
    const long long tiles = down * ((n + kHostTile - 1) / kHostTile);
    std::vector<float> k_block(kKBlock * kHostTile), sums(kHostTile * kHostTile);
    for (long long i = block; i < segments * tiles; i += blocks) {
      const int segment = (first + static_cast<int>(i / tiles)) % segments;
      const int row = static_cast<int>(i % tiles % down) * kHostTile;
      const int column = static_cast<int>(i % tiles / down) * kHostTile;
      const int height = std::min(kHostTile, m - row);
      add_up(rows.first_of(segment, row, height), rows.stride_of(segment), height, column, k_block,
             sums);
      store(c + (static_cast<std::ptrdiff_t>(segment) * m + row) * ldc + column, height,
            std::min(kHostTile, n - column), sums);
    }
  }

  static constexpr int kKBlock = 128;  // elements along k

  // Sums of a tile: `height` rows of A from `a` on, columns of C from `column` on, each row of sums
  // kHostTile long. `k_block`: room for kKBlock * kHostTile.
  void add_up(const T* a, std::ptrdiff_t lda, int height, int column, std::vector<float>& k_block,
              std::vector<float>& sums) const {
    const int width = std::min(kHostTile, n - column);
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int from = 0; from < k; from += kKBlock) {
      const int depth = std::min(kKBlock, k - from);
      for (int j = 0; j < width; ++j) {  // turned round, so that neighbours are columns of c
        for (int i = 0; i < depth; ++i) {
          k_block[i * kHostTile + j] = static_cast<float>(b[(column + j) * ldb + from + i]);
        }
      }
      for (int r = 0; r < height; ++r) {
        float* const sum = &sums[r * kHostTile];
        for (int i = 0; i < depth; ++i) {
          const float factor = static_cast<float>(a[r * lda + from + i]);
          for (int j = 0; j < width; ++j) sum[j] += factor * k_block[i * kHostTile + j];
        }
      }
    }
  }

 private:
  void store(T* to, int height, int width, const std::vector<float>& sums) const {
    for (int r = 0; r < height; ++r) {
      for (int j = 0; j < width; ++j) to[r * ldc + j] = T(sums[r * kHostTile + j]);
    }
  }
};

}  // namespace weft::kernels::gemm
