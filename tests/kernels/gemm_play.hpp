// The common part of the tests of Gemm: a GEMM into an output full of NaNs,
// compared with sums in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/weft.hpp>

#include "tests/kernels/matrices.hpp"
#include "tests/support/status.hpp"

namespace weft::kernels::test {

// A matrix on the host: rows of `columns` elements, `stride` apart, poison between and behind them.
struct Matrix {
  Matrix(std::int64_t rows_, std::int64_t columns_, std::int64_t stride_)
      : rows(rows_), columns(columns_), stride(stride_), bits(poisoned(rows_, stride_)) {}
  std::uint16_t& at(std::int64_t r, std::int64_t c) {
    return bits[static_cast<std::size_t>(r * stride + c)];
  }
  void randomize(DType type, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) at(r, c) = bits_of(type, random_value(random));
  }
  std::int64_t rows, columns, stride;
  Bits bits;
};

// Elements where kernels run, for as long as it lives. For a job of one PE.
template <class T>
class Operand {
 public:
  Operand(Runtime& runtime, const std::vector<T>& values)
      : runtime_(runtime), count_(values.size()) {
    auto memory = runtime.allocate_device<T>(count_, 64);
    EXPECT_OK(memory);
    data_ = memory.is_ok() ? *memory : nullptr;
    write(values);
  }
  ~Operand() { EXPECT_OK(runtime_.free(data_)); }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  void write(const std::vector<T>& values) {
    EXPECT_OK(runtime_.context().put(data_, values.data(), count_, runtime_.pe()));
    EXPECT_OK(runtime_.context().quiet());
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    EXPECT_OK(runtime_.context().get(values.data(), data_, count_, runtime_.pe()));
    return values;
  }
  T* data() const { return data_; }

 private:
  Runtime& runtime_;
  const std::size_t count_;
  T* data_ = nullptr;
};

inline void run(const std::function<void(Runtime&, Stream)>& body) {
  EXPECT_OK(run_local(1, [&](Runtime& runtime) {
    Stream stream = nullptr;
    EXPECT_OK(dev::create_stream(&stream));
    body(runtime, stream);
    EXPECT_OK(dev::destroy_stream(stream));
    return Status::ok();
  }));
}

// A GEMM and its operands, with room between rows.
struct Case {
  Case(std::int64_t m, std::int64_t n, std::int64_t k, DType type, std::uint64_t seed = 1)
      : problem{m, n, k, type, up8(k) + 8, up8(k) + 16, up8(n) + 8},
        a(m, k, problem.lda),
        b(n, k, problem.ldb),
        c(m, n, problem.ldc) {
    a.randomize(type, seed);
    b.randomize(type, seed + 1000);
  }

  // Every element of the first m rows within the rounding of its own terms, and nothing else
  // touched.
  void check(const Bits& got, std::int64_t m) {
    if (exact_.empty()) multiply_exactly();
    int wrong = 0;
    for (std::int64_t r = 0; r < c.rows + 2; ++r) {
      for (std::int64_t j = 0; j < c.stride; ++j) {
        const std::uint16_t bits = got[static_cast<std::size_t>(r * c.stride + j)];
        if (r >= m || j >= c.columns) {
          if (bits != kPoison && ++wrong < 5)
            ADD_FAILURE() << "touched: row " << r << " column " << j;
          continue;
        }
        const auto [sum, bound] = exact_[static_cast<std::size_t>(r * c.columns + j)];
        const double is = value_of(problem.dtype, bits);
        if (!(std::abs(is - sum) <= bound) && ++wrong < 5) {
          ADD_FAILURE() << "row " << r << " column " << j << ": " << is << ", not " << sum
                        << " within " << bound;
        }
      }
    }
    EXPECT_EQ(wrong, 0);
  }
  void check(const Bits& got) { check(got, problem.m); }

  std::vector<float> floats(Matrix& from) const {
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(from.rows * from.columns));
    for (std::int64_t r = 0; r < from.rows; ++r)
      for (std::int64_t i = 0; i < from.columns; ++i)
        all.push_back(value_of(problem.dtype, from.at(r, i)));
    return all;
  }

  GemmProblem problem;
  Matrix a, b, c;

 private:
  struct Exact {
    double sum, bound;
  };
  // Sums in float: c * sqrt(k) * eps * sum |a||b|, and half a unit of the result's last place.
  void multiply_exactly() {
    const double last = problem.dtype == DType::kBfloat16 ? 0x1p-8 : 0x1p-11;
    const double eps = 4 * std::sqrt(static_cast<double>(problem.k)) * 0x1p-24;
    const std::vector<float> x = floats(a), y = floats(b);
    const auto depth = static_cast<std::size_t>(problem.k);
    for (std::int64_t r = 0; r < c.rows; ++r) {
      for (std::int64_t j = 0; j < c.columns; ++j) {
        double sum = 0, sizes = 0;
        const float* const p = x.data() + static_cast<std::size_t>(r) * depth;
        const float* const q = y.data() + static_cast<std::size_t>(j) * depth;
        for (std::size_t i = 0; i < depth; ++i) {
          const double term = static_cast<double>(p[i]) * q[i];
          sum += term;
          sizes += std::abs(term);
        }
        // 1e-7: float16 has steps of 6e-8 next to zero.
        exact_.push_back({sum, last * std::abs(sum) + eps * sizes + 1e-7});
      }
    }
  }
  std::vector<Exact> exact_;
};

// Twice, into fresh poison: right, and the same bits.
inline void multiply(Runtime& runtime, Stream stream, Case& test, const GemmOptions& options = {}) {
  auto gemm = Gemm::create(runtime, test.problem, options);
  ASSERT_OK(gemm);
  SCOPED_TRACE(gemm->describe());
  Operand a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
  ASSERT_OK((*gemm)(stream, c.data(), a.data(), b.data()));
  ASSERT_OK(dev::synchronize(stream));
  const Bits first = c.read();
  test.check(first);
  c.write(test.c.bits);
  ASSERT_OK((*gemm)(stream, c.data(), a.data(), b.data()));
  ASSERT_OK(dev::synchronize(stream));
  EXPECT_EQ(c.read(), first) << "other bits in the second run";
}

struct Size {
  std::int64_t m, n, k;
};

// The plan's tile; on GPUs those of sm_80 as well, which later ones run, too.
class GemmTest : public ::testing::TestWithParam<const char*> {
 protected:
  const GemmOptions options_{.tile = GetParam()};
};

}  // namespace weft::kernels::test
