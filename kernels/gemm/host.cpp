// The GEMM on host threads: plain, for tests and for machines without a GPU. A sum is one float, to
// which the products are added in the order of k, however tiles are cut; so an operator that is
// made of it gives the same bits as the product and what follows it, one after the other.
#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "kernels/gemm/backend.hpp"

namespace weft::kernels::gemm {
namespace {

constexpr int kTile = 64;    // rows and columns
constexpr int kSlice = 128;  // elements along k

template <class T>
struct HostKernel {
  int m, n, k;
  std::ptrdiff_t lda, ldb, ldc;
  const T* a;
  const T* b;
  T* c;

  void operator()() const {
    const int rows = (m + kTile - 1) / kTile, columns = (n + kTile - 1) / kTile;
    std::vector<float> slice(kSlice * kTile), sums(kTile * kTile);
    for (long long tile = dev::block_rank(); tile < 1ll * rows * columns;
         tile += dev::grid_size()) {
      multiply(static_cast<int>(tile % rows) * kTile, static_cast<int>(tile / rows) * kTile, slice,
               sums);
    }
  }

 private:
  void multiply(int row, int column, std::vector<float>& slice, std::vector<float>& sums) const {
    const int height = std::min(kTile, m - row), width = std::min(kTile, n - column);
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int from = 0; from < k; from += kSlice) {
      const int depth = std::min(kSlice, k - from);
      for (int j = 0; j < width; ++j) {  // turned round, so that neighbours are columns of c
        for (int i = 0; i < depth; ++i) {
          slice[i * kTile + j] = static_cast<float>(b[(column + j) * ldb + from + i]);
        }
      }
      for (int r = 0; r < height; ++r) {
        float* const sum = &sums[r * kTile];
        for (int i = 0; i < depth; ++i) {
          const float factor = static_cast<float>(a[(row + r) * lda + from + i]);
          for (int j = 0; j < width; ++j) sum[j] += factor * slice[i * kTile + j];
        }
      }
    }
    for (int r = 0; r < height; ++r) {
      for (int j = 0; j < width; ++j) c[(row + r) * ldc + column + j] = T(sums[r * kTile + j]);
    }
  }
};

struct ClearKernel {
  int m;
  std::size_t row_bytes;
  std::ptrdiff_t stride_bytes;
  std::byte* c;
  void operator()() const {
    for (int r = 0; r < m; ++r) std::fill_n(c + r * stride_bytes, row_bytes, std::byte{0});
  }
};

class Host : public Backend {
 public:
  explicit Host(const GemmProblem& problem) : p_(problem) {
    const std::int64_t tiles = (p_.m + kTile - 1) / kTile * ((p_.n + kTile - 1) / kTile);
    threads_ = static_cast<unsigned>(
        std::clamp<std::int64_t>(tiles, 1, std::max(1u, std::thread::hardware_concurrency())));
  }
  Status run(Stream stream, void* c, const void* a, const void* b, int m) override {
    return p_.dtype == DType::kBfloat16 ? launch<Bfloat16>(stream, c, a, b, m)
                                        : launch<Half>(stream, c, a, b, m);
  }
  Status clear(Stream stream, void* c, int m) override {
    const std::size_t size = bytes_of(p_.dtype);
    return dev::launch({},
                       ClearKernel{m, static_cast<std::size_t>(p_.n) * size,
                                   static_cast<std::ptrdiff_t>(p_.ldc * static_cast<int>(size)),
                                   static_cast<std::byte*>(c)},
                       stream);
  }
  std::string describe() const override {
    return fmt::format("{} host threads, tiles of {}x{}", threads_, kTile, kTile);
  }

 private:
  template <class T>
  Status launch(Stream stream, void* c, const void* a, const void* b, int m) const {
    const HostKernel<T> kernel{m,
                               static_cast<int>(p_.n),
                               static_cast<int>(p_.k),
                               p_.lda,
                               p_.ldb,
                               p_.ldc,
                               static_cast<const T*>(a),
                               static_cast<const T*>(b),
                               static_cast<T*>(c)};
    dev::Grid grid;
    grid.blocks = threads_;
    return dev::launch(grid, kernel, stream);
  }

  const GemmProblem p_;
  unsigned threads_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_host(const GemmProblem& problem, const GemmOptions& options) {
  if (options.backend == GemmBackend::kCublas) {
    return Status::error(Code::kUnsupported,
                         "Gemm: cuBLAS was asked for, and the runtime has no GPU; leave "
                         "options.backend kAuto");
  }
  return std::unique_ptr<Backend>(std::make_unique<Host>(problem));
}

}  // namespace weft::kernels::gemm
