// The matrix product as an operator, on host threads; compiled for CUDA, on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/weft.hpp>

#include "kernels/gemm/plan.hpp"
#include "kernels/gemm/plan_sm80.hpp"
#include "tests/support/status.hpp"

#if WEFT_TARGET_CUDA
#include <cuda_runtime.h>
#endif

namespace weft::kernels {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Bits = std::vector<std::uint16_t>;

constexpr std::uint16_t kNan = 0xffff;  // in both types; also what must stay as it is

template <class T>
float widened(std::uint16_t bits) {
  T value;
  value.bits = bits;
  return static_cast<float>(value);
}
float value_of(DType type, std::uint16_t bits) {
  return type == DType::kBfloat16 ? widened<Bfloat16>(bits) : widened<Half>(bits);
}
std::uint16_t bits_of(DType type, float value) {
  return type == DType::kBfloat16 ? Bfloat16(value).bits : Half(value).bits;
}

// A matrix on the host: rows of `columns` elements, `stride` apart, poison between and behind them.
struct Matrix {
  Matrix(std::int64_t rows_, std::int64_t columns_, std::int64_t stride_)
      : rows(rows_), columns(columns_), stride(stride_) {
    bits.assign(static_cast<std::size_t>((rows + 2) * stride + 64), kNan);
  }
  std::uint16_t& at(std::int64_t r, std::int64_t c) {
    return bits[static_cast<std::size_t>(r * stride + c)];
  }
  void randomize(DType type, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) at(r, c) = bits_of(type, normal(random));
  }
  std::int64_t rows, columns, stride;
  Bits bits;
};

// The same where kernels run.
class Memory {
 public:
  Memory(Runtime& runtime, const Bits& bits) : runtime_(runtime), count_(bits.size()) {
    auto memory = runtime.allocate_device<std::uint16_t>(count_, 64);
    EXPECT_OK(memory);
    data_ = memory.is_ok() ? *memory : nullptr;
    write(bits);
  }
  ~Memory() { EXPECT_OK(runtime_.free(data_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void write(const Bits& bits) {
    EXPECT_OK(runtime_.context().put(data_, bits.data(), count_, runtime_.pe()));
    EXPECT_OK(runtime_.context().quiet());
  }
  Bits read() const {
    Bits bits(count_);
    EXPECT_OK(runtime_.context().get(bits.data(), data_, count_, runtime_.pe()));
    return bits;
  }
  std::uint16_t* data() const { return data_; }

 private:
  Runtime& runtime_;
  const std::size_t count_;
  std::uint16_t* data_ = nullptr;
};

void run(const std::function<void(Runtime&, Stream)>& body) {
  EXPECT_OK(run_local(1, [&](Runtime& runtime) {
    Stream stream = nullptr;
    EXPECT_OK(dev::create_stream(&stream));
    body(runtime, stream);
    EXPECT_OK(dev::destroy_stream(stream));
    return Status::ok();
  }));
}

constexpr std::int64_t up(std::int64_t value) { return (value + 7) / 8 * 8; }

// A product and its operands, with room between rows.
struct Case {
  Case(std::int64_t m, std::int64_t n, std::int64_t k, DType type, std::uint64_t seed = 1)
      : problem{m, n, k, type, up(k) + 8, up(k) + 16, up(n) + 8},
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
          if (bits != kNan && ++wrong < 5) ADD_FAILURE() << "touched: row " << r << " column " << j;
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
void multiply(Runtime& runtime, Stream stream, Case& test, const GemmOptions& options = {}) {
  auto gemm = Gemm::create(runtime, test.problem, options);
  ASSERT_OK(gemm);
  SCOPED_TRACE(gemm->describe());
  Memory a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
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
// None, one, odd, a tile's edges and beside them, few rows, long sums.
constexpr Size kSizes[] = {{1, 1, 1},      {1, 1, 8},       {3, 5, 7},       {64, 64, 64},
                           {65, 63, 65},   {128, 256, 64},  {129, 257, 63},  {127, 255, 129},
                           {300, 523, 77}, {16, 1000, 512}, {257, 176, 200}, {5, 9, 9001},
                           {2, 3, 40000},  {513, 40, 320},  {1, 777, 100},   {70, 8, 1000}};

// The plan's tile; on GPUs those of sm_80 as well, which later ones run, too.
class GemmTest : public ::testing::TestWithParam<const char*> {
 protected:
  const GemmOptions options_{.tile = GetParam()};
};
#if WEFT_TARGET_CPU
INSTANTIATE_TEST_SUITE_P(, GemmTest, ::testing::Values(""), [](const auto&) { return "planned"; });
#else
INSTANTIATE_TEST_SUITE_P(, GemmTest, ::testing::Values("", "sm80/128x128", "sm80/64x64"),
                         [](const auto& tile) {
                           std::string name = *tile.param == 0 ? "planned" : tile.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });
#endif

TEST_P(GemmTest, IsRightAtEverySize) {
  run([this](Runtime& runtime, Stream stream) {
    std::uint64_t seed = 1;
    for (const DType type : {DType::kBfloat16, DType::kFloat16}) {
      for (const Size& size : kSizes) {
        SCOPED_TRACE(::testing::Message()
                     << size.m << "x" << size.n << "x" << size.k << " " << to_string(type));
        Case test(size.m, size.n, size.k, type, ++seed);
        multiply(runtime, stream, test, options_);
      }
    }
  });
}

TEST_P(GemmTest, NothingIsNothingAndAnEmptySumIsZero) {
  run([this](Runtime& runtime, Stream stream) {
    for (const Size& size : {Size{0, 8, 8}, Size{8, 0, 8}, Size{0, 0, 0}, Size{5, 9, 0}}) {
      SCOPED_TRACE(::testing::Message() << size.m << "x" << size.n << "x" << size.k);
      Case test(size.m, size.n, size.k, DType::kBfloat16);
      multiply(runtime, stream, test, options_);
    }
  });
}

TEST_P(GemmTest, TakesFewerRowsThanPlanned) {
  run([this](Runtime& runtime, Stream stream) {
    Case test(400, 136, 264, DType::kBfloat16);
    auto gemm = Gemm::create(runtime, test.problem, options_);
    ASSERT_OK(gemm);
    Memory a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
    for (const std::int64_t m : {400, 0, 1, 64, 129, 399}) {
      SCOPED_TRACE(m);
      c.write(test.c.bits);
      ASSERT_OK((*gemm)(stream, c.data(), a.data(), b.data(), m));
      ASSERT_OK(dev::synchronize(stream));
      test.check(c.read(), m);
    }
    EXPECT_CODE((*gemm)(stream, c.data(), a.data(), b.data(), 401), Code::kInvalidArgument);
  });
}

TEST_P(GemmTest, RowsMayLieClose) {
  run([this](Runtime& runtime, Stream stream) {
    Case test(72, 48, 80, DType::kFloat16);
    test.a = Matrix(72, 80, 80);
    test.b = Matrix(48, 80, 80);
    test.c = Matrix(72, 48, 48);
    test.a.randomize(DType::kFloat16, 5);
    test.b.randomize(DType::kFloat16, 6);
    test.problem.lda = test.problem.ldb = test.problem.ldc = 0;
    multiply(runtime, stream, test, options_);
  });
}

TEST(Gemm, SaysWhatIsWrong) {
  run([](Runtime& runtime, Stream stream) {
    const auto text = [&](const GemmProblem& problem, const GemmOptions& options = {}) {
      const auto made = Gemm::create(runtime, problem, options);
      EXPECT_FALSE(made.is_ok());
      return std::string(made.status().text());
    };
    const GemmProblem good{16, 16, 16};
    GemmProblem bad = good;
    bad.m = -1;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("m is -1"), HasSubstr("from 0")));
    bad = good;
    bad.dtype = DType::kFloat32;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("dtype is float32"), HasSubstr("bfloat16 or float16")));
    bad = good;
    bad.lda = 8;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("lda is 8"), HasSubstr("16 elements")));
    bad = good;
    bad.ldc = 20;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("ldc is 20"), HasSubstr("multiple of 8")));
    bad = good;
    bad.k = 13;
    EXPECT_THAT(text(bad), AllOf(HasSubstr("lda is 13"), HasSubstr("a wider one")));
    GemmOptions options;
    options.multiprocessors = -3;
    EXPECT_THAT(text(good, options), HasSubstr("multiprocessors is -3"));

    auto gemm = Gemm::create(runtime, good);
    ASSERT_OK(gemm);
    Case test(16, 16, 16, DType::kBfloat16);
    Memory a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
    const Status null = (*gemm)(stream, nullptr, a.data(), b.data());
    EXPECT_THAT(null.text(), AllOf(HasSubstr("c is"), HasSubstr("not null")));
    const Status odd = (*gemm)(stream, c.data(), a.data() + 1, b.data());
    EXPECT_THAT(odd.text(), AllOf(HasSubstr("a is"), HasSubstr("multiple of 16 bytes")));
    EXPECT_EQ(c.read(), test.c.bits);
  });
}

#if WEFT_TARGET_CPU

// The order that the header promises.
TEST(Gemm, HostThreadsAddInTheOrderOfK) {
  run([](Runtime& runtime, Stream stream) {
    Case test(70, 67, 300, DType::kBfloat16);
    auto gemm = Gemm::create(runtime, test.problem);
    ASSERT_OK(gemm);
    Memory a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
    ASSERT_OK((*gemm)(stream, c.data(), a.data(), b.data()));
    ASSERT_OK(dev::synchronize(stream));
    const Bits got = c.read();
    const std::vector<float> x = test.floats(test.a), y = test.floats(test.b);
    for (std::size_t r = 0; r < 70; ++r) {
      for (std::size_t j = 0; j < 67; ++j) {
        float sum = 0;
        for (std::size_t i = 0; i < 300; ++i) sum += x[r * 300 + i] * y[j * 300 + i];
        const std::size_t at = r * static_cast<std::size_t>(test.problem.ldc) + j;
        ASSERT_EQ(got[at], Bfloat16(sum).bits) << r << ", " << j;
      }
    }
  });
}

#else

TEST(Gemm, EveryTileIsRight) {
  run([](Runtime& runtime, Stream stream) {
    for (const DType type : {DType::kBfloat16, DType::kFloat16}) {
      for (const Size& size : {Size{600, 531, 330}, Size{40, 1000, 72}, Size{260, 8, 2000}}) {
        SCOPED_TRACE(::testing::Message() << size.m << "x" << size.n << "x" << size.k);
        Case test(size.m, size.n, size.k, type, 7);
        std::vector<std::string> tiles;
        for (const gemm::Tile& tile : gemm::kTiles) tiles.push_back(name_of(tile));
        for (const sm80::Tile& tile : sm80::kTiles) tiles.push_back(name_of(tile));
        for (const std::string& tile : tiles) {
          GemmOptions options;
          options.tile = tile;
          for (const int processors : {0, 5}) {  // 5: many turns for each block
            options.multiprocessors = processors;
            multiply(runtime, stream, test, options);
          }
        }
      }
    }
  });
}

TEST(Gemm, CublasIsRight) {
  run([](Runtime& runtime, Stream stream) {
    GemmOptions options;
    options.backend = GemmBackend::kCublas;
    Case test(300, 264, 520, DType::kBfloat16);
    const auto made = Gemm::create(runtime, test.problem, options);
    if (made.status().is(Code::kUnsupported)) GTEST_SKIP() << made.status().text();
    multiply(runtime, stream, test, options);
  });
}

// Large, against cuBLAS or not at all: each block has several tiles.
TEST_P(GemmTest, ManyTurnsAgreeWithCublas) {
  run([this](Runtime& runtime, Stream stream) {
    GemmOptions options;
    options.backend = GemmBackend::kCublas;
    Case test(3000, 4104, 520, DType::kBfloat16);
    auto theirs = Gemm::create(runtime, test.problem, options);
    if (theirs.status().is(Code::kUnsupported)) GTEST_SKIP() << theirs.status().text();
    auto ours = Gemm::create(runtime, test.problem, options_);
    ASSERT_OK(theirs);
    ASSERT_OK(ours);
    Memory a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits),
        d(runtime, test.c.bits);
    ASSERT_OK((*ours)(stream, c.data(), a.data(), b.data()));
    ASSERT_OK((*theirs)(stream, d.data(), a.data(), b.data()));
    ASSERT_OK(dev::synchronize(stream));
    const Bits x = c.read(), y = d.read();
    int apart = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float p = value_of(DType::kBfloat16, x[i]), q = value_of(DType::kBfloat16, y[i]);
      if (x[i] != y[i] && !(std::abs(p - q) <= 0x1p-7f * std::abs(q) + 1e-3f)) ++apart;
    }
    EXPECT_EQ(apart, 0);
  });
}

TEST_P(GemmTest, ReplaysInAGraphWithOtherData) {
  run([this](Runtime& runtime, Stream stream) {
    Case first(300, 264, 520, DType::kBfloat16, 1), second(300, 264, 520, DType::kBfloat16, 2);
    auto gemm = Gemm::create(runtime, first.problem, options_);
    ASSERT_OK(gemm);
    Memory a(runtime, first.a.bits), b(runtime, first.b.bits), c(runtime, first.c.bits);
    const auto native = static_cast<cudaStream_t>(stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_OK((*gemm)(stream, c.data(), a.data(), b.data()));
    ASSERT_EQ(cudaStreamEndCapture(native, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    for (int replay = 0; replay < 6; ++replay) {
      Case& now = replay % 2 == 0 ? first : second;
      a.write(now.a.bits);
      b.write(now.b.bits);
      c.write(now.c.bits);
      ASSERT_EQ(cudaGraphLaunch(ready, native), cudaSuccess);
      ASSERT_OK(dev::synchronize(stream));
      now.check(c.read());
    }
    EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  });
}

TEST(Gemm, NamesTheTilesThatThereAre) {
  run([](Runtime& runtime, Stream) {
    GemmOptions options;
    options.tile = "3x3";
    const auto made = Gemm::create(runtime, {16, 16, 16}, options);
    EXPECT_THAT(made.status().text(), AllOf(HasSubstr("3x3"), HasSubstr("128x256")));
    options.tile = "sm80/3x3";
    const auto older = Gemm::create(runtime, {16, 16, 16}, options);
    EXPECT_THAT(older.status().text(), AllOf(HasSubstr("sm80/3x3"), HasSubstr("sm80/64x64")));
  });
}

#endif

}  // namespace
}  // namespace weft::kernels
