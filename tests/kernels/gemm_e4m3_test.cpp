// The GEMM of scaled e4m3, on host threads; compiled for CUDA, on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <weft/kernels/collectives.hpp>
#include <weft/kernels/gemm.hpp>

#include "kernels/gemm/e4m3.hpp"
#include "kernels/gemm/plan.hpp"
#include "tests/kernels/gemm_play.hpp"

#if WEFT_TARGET_CUDA
#include <cuda_runtime.h>
#endif

namespace weft::kernels {
namespace {

using test::Operand;
using test::run;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;
using Floats = std::vector<float>;
using Words = std::vector<std::uint16_t>;

constexpr std::uint8_t kNan = 0xff;           // of e4m3
constexpr std::uint16_t kUntouched = 0xffff;  // a NaN of bfloat16

// From the format's definition (OCP 8-bit floating point specification, table 2), not from the code
// that is tested.
double value_of(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  if ((bits & 0x7f) == 0x7f) return std::numeric_limits<double>::quiet_NaN();
  const double size =
      exponent == 0 ? std::ldexp(bits & 7, -9) : std::ldexp(1 + (bits & 7) / 8.0, exponent - 7);
  return (bits & 0x80) != 0 ? -size : size;
}
float value_of(std::uint16_t bits) {
  Bfloat16 value;
  value.bits = bits;
  return static_cast<float>(value);
}

constexpr std::int64_t up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A GEMM and its operands: NaN between rows and behind them, and where c is not written.
struct Case {
  Case(std::int64_t m_, std::int64_t n_, std::int64_t k_, std::uint64_t seed = 1)
      : m(m_),
        n(n_),
        k(k_),
        q((k + 127) / 128),
        problem{m, n, k, DType::kFloat8E4m3, up(k, 16) + 16, up(k, 16) + 32, up(n, 8) + 8},
        a(static_cast<std::size_t>(m * problem.lda + 256), kNan),
        b(static_cast<std::size_t>(n * problem.ldb + 256), kNan),
        c(static_cast<std::size_t>((m + 2) * problem.ldc), kUntouched),
        scale_a(static_cast<std::size_t>(m * q + 1)),
        scale_b(static_cast<std::size_t>((n + 127) / 128 * q + 1)),
        random_(seed) {
    fill(a, m, problem.lda);
    fill(b, n, problem.ldb);
    std::uniform_real_distribution<float> exponent(-6, 2);
    for (Floats* scales : {&scale_a, &scale_b}) {
      for (float& scale : *scales) scale = std::exp2(exponent(random_));
      scales->back() = std::numeric_limits<float>::quiet_NaN();
    }
  }

  // Every element of the first rows within its bound, and nothing else touched. Gives the largest
  // error in units of the sizes of the terms.
  double check(const Words& got, std::int64_t rows) const {
    if (exact_.empty()) multiply_exactly();
    int wrong = 0;
    double most = 0;
    for (std::int64_t r = 0; r < m + 2; ++r) {
      for (std::int64_t j = 0; j < problem.ldc; ++j) {
        const std::uint16_t bits = got[static_cast<std::size_t>(r * problem.ldc + j)];
        if (r >= rows || j >= n) {
          if (bits != kUntouched && ++wrong < 5) ADD_FAILURE() << "touched: " << r << ", " << j;
          continue;
        }
        const auto [sum, sizes] = exact_[static_cast<std::size_t>(r * n + j)];
        const double off = std::abs(static_cast<double>(value_of(bits)) - sum);
        const double left = off - 0x1p-8 * std::abs(sum) - 1e-30;  // rounded to bfloat16
        if (!(left <= kEps * sizes) && ++wrong < 5) {
          ADD_FAILURE() << "row " << r << " column " << j << ": " << value_of(bits) << ", not "
                        << sum << " within " << kEps * sizes;
        }
        if (sizes > 0) most = std::max(most, left / sizes);
      }
    }
    EXPECT_EQ(wrong, 0);
    return most;
  }

  std::int64_t m, n, k, q;
  GemmProblem problem;
  Bytes a, b;
  Words c;
  Floats scale_a, scale_b;

 private:
#if WEFT_TARGET_CUDA
  // Tensor cores add terms in fewer bits than a float has. DeepSeek-V3 tells of 14: then each of
  // the 33 that are added at a time loses up to 2^-13 of the largest, four times a block; of either
  // sign, and what the largest loses to the sizes of all.
  static constexpr double kEps = 0x1p-8;
#else
  static constexpr double kEps = 0x1p-20;
#endif

  // All but NaN, the subnormal and the largest ones, too.
  void fill(Bytes& to, std::int64_t rows, std::int64_t stride) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < k; ++i) {
        std::uint8_t bits = static_cast<std::uint8_t>(random_());
        // Most alike in size, as what was scaled is.
        if (random_() % 8 != 0)
          bits = static_cast<std::uint8_t>((bits & 0x8f) | (8 + random_() % 3) << 3);
        to[static_cast<std::size_t>(r * stride + i)] = (bits & 0x7f) == 0x7f ? 0 : bits;
      }
    }
  }
  void multiply_exactly() const {
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t j = 0; j < n; ++j) exact_.push_back(exact(r, j));
  }
  struct Exact {
    double sum, sizes;  // of the terms, and of what they are without signs
  };
  Exact exact(std::int64_t r, std::int64_t j) const {
    double sum = 0, sizes = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      const double scale = static_cast<double>(scale_a[static_cast<std::size_t>(r * q + i / 128)]) *
                           scale_b[static_cast<std::size_t>(j / 128 * q + i / 128)];
      const double term = scale * values_[a[static_cast<std::size_t>(r * problem.lda + i)]] *
                          values_[b[static_cast<std::size_t>(j * problem.ldb + i)]];
      sum += term;
      sizes += std::abs(term);
    }
    return {sum, sizes};
  }
  static std::vector<double> all_values() {
    std::vector<double> values;
    for (int bits = 0; bits < 256; ++bits)
      values.push_back(value_of(static_cast<std::uint8_t>(bits)));
    return values;
  }
  std::vector<double> values_ = all_values();
  mutable std::vector<Exact> exact_;
  std::mt19937_64 random_;
};

// Where kernels run.
struct Operands {
  Operands(Runtime& runtime, const Case& test)
      : a(runtime, test.a),
        b(runtime, test.b),
        c(runtime, test.c),
        scale_a(runtime, test.scale_a),
        scale_b(runtime, test.scale_b) {}
  Status multiply(Gemm& gemm, Stream stream, std::int64_t m) const {
    return gemm(stream, c.data(), a.data(), b.data(), m, scales());
  }
  GemmScales scales() const { return {scale_a.data(), scale_b.data()}; }
  Operand<std::uint8_t> a, b;
  Operand<std::uint16_t> c;
  Operand<float> scale_a, scale_b;
};

// Twice, into fresh poison: right, and the same bits.
void multiply(Runtime& runtime, Stream stream, const Case& test,
              const GemmOptions& options = GemmOptions()) {
  auto gemm = Gemm::create(runtime, test.problem, options);
  ASSERT_OK(gemm);
  SCOPED_TRACE(gemm->describe());
  Operands operands(runtime, test);
  ASSERT_OK(operands.multiply(*gemm, stream, test.m));
  ASSERT_OK(dev::synchronize(stream));
  const Words first = operands.c.read();
  const double most = test.check(first, test.m);
  ::testing::Test::RecordProperty("largest_error_by_2_to_20", static_cast<int>(most * 0x1p20));
  operands.c.write(test.c);
  ASSERT_OK(operands.multiply(*gemm, stream, test.m));
  ASSERT_OK(dev::synchronize(stream));
  EXPECT_EQ(operands.c.read(), first) << "other bits in the second run";
}

struct Size {
  std::int64_t m, n, k;
};
// One, odd, the edges of tiles and of blocks of scales, and beside them; few rows; long sums.
constexpr Size kSizes[] = {{1, 1, 2},       {3, 5, 6},       {64, 64, 128},   {65, 63, 130},
                           {128, 160, 128}, {129, 161, 126}, {127, 255, 258}, {300, 523, 378},
                           {16, 1000, 512}, {257, 176, 400}, {5, 9, 9002},    {1, 777, 1280},
                           {130, 385, 640}, {70, 8, 1000}};

TEST(GemmE4m3, IsRightAtEverySize) {
  run([](Runtime& runtime, Stream stream) {
    std::uint64_t seed = 1;
    for (const Size& size : kSizes) {
      SCOPED_TRACE(::testing::Message() << size.m << "x" << size.n << "x" << size.k);
      multiply(runtime, stream, Case(size.m, size.n, size.k, ++seed));
    }
  });
}

TEST(GemmE4m3, NothingIsNothingAndAnEmptySumIsZero) {
  run([](Runtime& runtime, Stream stream) {
    for (const Size& size : {Size{0, 8, 16}, Size{8, 0, 16}, Size{5, 9, 0}}) {
      SCOPED_TRACE(::testing::Message() << size.m << "x" << size.n << "x" << size.k);
      multiply(runtime, stream, Case(size.m, size.n, size.k));
    }
  });
}

TEST(GemmE4m3, TakesFewerRowsThanPlanned) {
  run([](Runtime& runtime, Stream stream) {
    const Case test(400, 200, 264);
    auto gemm = Gemm::create(runtime, test.problem);
    ASSERT_OK(gemm);
    Operands operands(runtime, test);
    for (const std::int64_t m : {400, 0, 1, 64, 129, 399}) {
      SCOPED_TRACE(m);
      operands.c.write(test.c);
      ASSERT_OK(operands.multiply(*gemm, stream, m));
      ASSERT_OK(dev::synchronize(stream));
      test.check(operands.c.read(), m);
    }
  });
}

// Elements whose scales are NaN are NaN, and nothing else is.
TEST(GemmE4m3, ScalesOfNanReachWhatTheyScale) {
  run([](Runtime& runtime, Stream stream) {
    Case test(200, 400, 384);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    test.scale_a[static_cast<std::size_t>(77 * test.q + 1)] = nan;
    test.scale_b[static_cast<std::size_t>(2 * test.q + 2)] = nan;
    auto gemm = Gemm::create(runtime, test.problem);
    ASSERT_OK(gemm);
    const Operands operands(runtime, test);
    ASSERT_OK(operands.multiply(*gemm, stream, test.m));
    ASSERT_OK(dev::synchronize(stream));
    const Words got = operands.c.read();
    int wrong = 0;
    for (std::int64_t r = 0; r < test.m; ++r) {
      for (std::int64_t j = 0; j < test.n; ++j) {
        const bool is =
            std::isnan(value_of(got[static_cast<std::size_t>(r * test.problem.ldc + j)]));
        wrong += is != (r == 77 || j / 128 == 2);
      }
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST(GemmE4m3, SaysWhatIsWrong) {
  run([](Runtime& runtime, Stream stream) {
    const auto text = [&](const GemmProblem& problem) {
      const auto made = Gemm::create(runtime, problem);
      EXPECT_FALSE(made.is_ok());
      return std::string(made.status().text());
    };
    const GemmProblem good{16, 16, 32, DType::kFloat8E4m3};
    GemmProblem bad = good;
    bad.k = 31;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("k is 31"), HasSubstr("even")));
    bad = good;
    bad.lda = 40;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("lda is 40"), HasSubstr("multiple of 16")));
    bad = good;
    bad.ldb = 16;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("ldb is 16"), HasSubstr("32 elements")));
    bad = good;
    bad.ldc = 20;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("ldc is 20"), HasSubstr("multiple of 8")));

    auto gemm = Gemm::create(runtime, good);
    ASSERT_OK(gemm);
    EXPECT_THAT(gemm->describe(), HasSubstr("float8_e4m3"));
    const Case test(16, 16, 32);
    const Operands operands(runtime, test);
    void *const c = operands.c.data(), *const a = operands.a.data(), *const b = operands.b.data();
    const auto called = [&](Gemm& gemm, const GemmScales& scales) {
      const Status status = gemm(stream, c, a, b, 16, scales);
      EXPECT_TRUE(status.is(Code::kInvalidArgument));
      return std::string(status.text());
    };
    const GemmScales scales = operands.scales();
    EXPECT_THAT(called(*gemm, {nullptr, scales.b}),
                AllOf(HasSubstr("scales.a"), HasSubstr("not null")));
    EXPECT_THAT(called(*gemm, {scales.a, nullptr}),
                AllOf(HasSubstr("scales.b"), HasSubstr("not null")));
    const auto odd = reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(scales.a) + 2);
    EXPECT_THAT(called(*gemm, {odd, scales.b}), HasSubstr("multiple of 4 bytes"));
    EXPECT_CODE((*gemm)(stream, c, a, b), Code::kInvalidArgument);

    auto without = Gemm::create(runtime, {16, 16, 32});
    ASSERT_OK(without);
    EXPECT_THAT(called(*without, scales), AllOf(HasSubstr("scales.a"), HasSubstr("null")));
    EXPECT_EQ(operands.c.read(), test.c);

    GemmOptions cublas;
    cublas.backend = GemmBackend::kCublas;
    EXPECT_CODE(Gemm::create(runtime, good, cublas).status(), Code::kUnsupported);
  });
}

TEST(GemmE4m3, IsMovedByCollectivesAndNotSummed) {
  run([](Runtime& runtime, Stream) {
    EXPECT_OK(AllGather::create(runtime, {.max_count = 8, .dtype = DType::kFloat8E4m3}));
    const auto sum = AllReduce::create(runtime, {.max_count = 8, .dtype = DType::kFloat8E4m3});
    EXPECT_CODE(sum.status(), Code::kUnsupported);
    EXPECT_THAT(sum.status().text(), HasSubstr("float8_e4m3"));
  });
}

#if WEFT_TARGET_CPU

TEST(GemmE4m3, EveryValueIsRead) {
  for (int bits = 0; bits < 256; ++bits) {
    const auto byte = static_cast<std::uint8_t>(bits);
    const auto got = static_cast<double>(static_cast<float>(gemm::E4m3{byte}));
    if (std::isnan(value_of(byte))) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(got, value_of(byte)) << bits;
      EXPECT_EQ(std::signbit(got), bits >= 128) << bits;
    }
  }
}

// The order that the header promises.
TEST(GemmE4m3, HostThreadsAddBlocksInTheOrderOfK) {
  run([](Runtime& runtime, Stream stream) {
    const Case test(70, 200, 300);
    auto gemm = Gemm::create(runtime, test.problem);
    ASSERT_OK(gemm);
    const Operands operands(runtime, test);
    ASSERT_OK(operands.multiply(*gemm, stream, test.m));
    ASSERT_OK(dev::synchronize(stream));
    const Words got = operands.c.read();
    for (std::int64_t r = 0; r < test.m; ++r) {
      for (std::int64_t j = 0; j < test.n; ++j) {
        float sum = 0;
        for (std::int64_t q = 0; q < test.q; ++q) {
          float part = 0;
          for (std::int64_t i = 128 * q; i < std::min(128 * q + 128, test.k); ++i) {
            // A product of two e4m3 has eight bits: exact.
            part += static_cast<float>(
                value_of(test.a[static_cast<std::size_t>(r * test.problem.lda + i)]) *
                value_of(test.b[static_cast<std::size_t>(j * test.problem.ldb + i)]));
          }
          const float scale = test.scale_a[static_cast<std::size_t>(r * test.q + q)] *
                              test.scale_b[static_cast<std::size_t>(j / 128 * test.q + q)];
          sum = std::fma(part, scale, sum);
        }
        ASSERT_EQ(got[static_cast<std::size_t>(r * test.problem.ldc + j)], Bfloat16(sum).bits)
            << r << ", " << j;
      }
    }
  });
}

#else

TEST(GemmE4m3, EveryTileIsRight) {
  run([](Runtime& runtime, Stream stream) {
    for (const Size& size : {Size{600, 531, 830}, Size{40, 1000, 144}, Size{260, 8, 4000}}) {
      SCOPED_TRACE(::testing::Message() << size.m << "x" << size.n << "x" << size.k);
      const Case test(size.m, size.n, size.k, 7);
      for (const gemm::Tile& tile : gemm::kE4m3Tiles) {
        GemmOptions options;
        options.tile = name_of(tile);
        for (const int processors : {0, 5}) {  // 5: many waves
          options.num_sms = processors;
          multiply(runtime, stream, test, options);
        }
      }
    }
  });
}

TEST(GemmE4m3, ReplaysInAGraphWithOtherData) {
  run([](Runtime& runtime, Stream stream) {
    const Case first(300, 264, 520, 1), second(300, 264, 520, 2);
    auto gemm = Gemm::create(runtime, first.problem);
    ASSERT_OK(gemm);
    Operands operands(runtime, first);
    const auto native = static_cast<cudaStream_t>(stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_OK(operands.multiply(*gemm, stream, first.m));
    ASSERT_EQ(cudaStreamEndCapture(native, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    for (int replay = 0; replay < 6; ++replay) {
      const Case& now = replay % 2 == 0 ? first : second;
      operands.a.write(now.a);
      operands.b.write(now.b);
      operands.scale_a.write(now.scale_a);
      operands.scale_b.write(now.scale_b);
      operands.c.write(now.c);
      ASSERT_EQ(cudaGraphLaunch(ready, native), cudaSuccess);
      ASSERT_OK(dev::synchronize(stream));
      now.check(operands.c.read(), now.m);
    }
    EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  });
}

#endif

}  // namespace
}  // namespace weft::kernels
