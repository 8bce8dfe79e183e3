// The GEMM on host threads, for tests and for machines without a GPU.
#include <algorithm>
#include <cstddef>
#include <thread>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "kernels/gemm/backend.hpp"
#include "kernels/gemm/host_gemm.hpp"
#include "kernels/gemm/host_scaled.hpp"

namespace weft::kernels::gemm {
namespace {

// All of A is there.
template <class T>
struct Rows {
  const T* a;
  std::ptrdiff_t stride;
  const T* first_of(int /*segment*/, int row, int /*height*/) const { return a + row * stride; }
  std::ptrdiff_t stride_of(int /*segment*/) const { return stride; }
};

struct ScaledHostKernel {
  ScaledHostGemm gemm;
  void operator()() const { gemm.multiply(dev::block_rank(), dev::grid_size()); }
};

template <class T>
struct HostKernel {
  HostGemm<T> gemm;
  Rows<T> rows;
  void operator()() const { gemm.multiply(rows, dev::block_rank(), dev::grid_size()); }
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
    const std::int64_t tiles =
        (p_.m + kHostTile - 1) / kHostTile * ((p_.n + kHostTile - 1) / kHostTile);
    threads_ = static_cast<unsigned>(
        std::clamp<std::int64_t>(tiles, 1, std::max(1u, std::thread::hardware_concurrency())));
  }
  Status run(Stream stream, void* c, const void* a, const void* b, int m,
             const GemmScales& scales) override {
    if (p_.dtype == DType::kFloat8E4m3) {
      const ScaledHostKernel kernel{{m, static_cast<int>(p_.n), static_cast<int>(p_.k), p_.lda,
                                     p_.ldb, p_.ldc, static_cast<const E4m3*>(a),
                                     static_cast<const E4m3*>(b), scales.a, scales.b,
                                     static_cast<Bfloat16*>(c)}};
      return launch(stream, kernel);
    }
    return p_.dtype == DType::kBfloat16 ? launch<Bfloat16>(stream, c, a, b, m)
                                        : launch<Half>(stream, c, a, b, m);
  }
  Status clear(Stream stream, void* c, int m) override {
    constexpr std::size_t size = 2;  // of an element of c
    return dev::launch({},
                       ClearKernel{m, static_cast<std::size_t>(p_.n) * size,
                                   static_cast<std::ptrdiff_t>(p_.ldc * static_cast<int>(size)),
                                   static_cast<std::byte*>(c)},
                       stream);
  }
  std::string describe() const override {
    return fmt::format("{} host threads, tiles of {}x{}", threads_, kHostTile, kHostTile);
  }

 private:
  template <class T>
  Status launch(Stream stream, void* c, const void* a, const void* b, int m) const {
    const HostKernel<T> kernel{{1, 0, m, static_cast<int>(p_.n), static_cast<int>(p_.k), p_.ldb,
                                p_.ldc, static_cast<const T*>(b), static_cast<T*>(c)},
                               {static_cast<const T*>(a), p_.lda}};
    return launch(stream, kernel);
  }
  template <class Kernel>
  Status launch(Stream stream, const Kernel& kernel) const {
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
                         "cuBLAS was asked for, and the runtime has no GPU; leave "
                         "options.backend kAuto");
  }
  return std::unique_ptr<Backend>(std::make_unique<Host>(problem));
}

}  // namespace weft::kernels::gemm
