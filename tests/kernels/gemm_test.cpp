// The GEMM as an operator, on host threads; compiled for CUDA, on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/kernels/gemm_play.hpp"

namespace weft::kernels::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// None, one, odd, a tile's edges and beside them, few rows, long sums.
constexpr Size kSizes[] = {{1, 1, 1},      {1, 1, 8},       {3, 5, 7},       {64, 64, 64},
                           {65, 63, 65},   {128, 256, 64},  {129, 257, 63},  {127, 255, 129},
                           {300, 523, 77}, {16, 1000, 512}, {257, 176, 200}, {5, 9, 9001},
                           {2, 3, 40000},  {513, 40, 320},  {1, 777, 100},   {70, 8, 1000}};

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
    Operand a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
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
    options.num_sms = -3;
    EXPECT_THAT(text(good, options), HasSubstr("num_sms is -3"));

    auto gemm = Gemm::create(runtime, good);
    ASSERT_OK(gemm);
    Case test(16, 16, 16, DType::kBfloat16);
    Operand a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
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
    Operand a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits);
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

#endif

}  // namespace
}  // namespace weft::kernels::test
