// The GEMM as GPUs alone have it: every tile, beside cuBLASLt, in CUDA graphs.
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/gemm/plan.hpp"
#include "kernels/gemm/plan_sm80.hpp"
#include "tests/kernels/gemm_play.hpp"

namespace weft::kernels::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Gemm, EveryTileIsRight) {
  run([](Runtime& runtime, Stream stream) {
    for (const DType type : {DType::kBfloat16, DType::kFloat16}) {
      for (const Size& size : {Size{600, 531, 330}, Size{40, 1000, 72}, Size{260, 8, 2000}}) {
        SCOPED_TRACE(::testing::Message() << size.m << "x" << size.n << "x" << size.k);
        Case test(size.m, size.n, size.k, type, 7);
        std::vector<std::string> tiles;
        for (const gemm::Tile& tile : gemm::kTiles) tiles.push_back(name_of(tile));
        for (const gemm::Tile& tile : gemm::kFewRowTiles) tiles.push_back(name_of(tile));
        for (const sm80::Tile& tile : sm80::kTiles) tiles.push_back(name_of(tile));
        for (const std::string& tile : tiles) {
          GemmOptions options;
          options.tile = tile;
          for (const int processors : {0, 5}) {  // 5: many waves
            options.num_sms = processors;
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
TEST_P(GemmTest, ManyWavesAgreeWithCublas) {
  run([this](Runtime& runtime, Stream stream) {
    GemmOptions options;
    options.backend = GemmBackend::kCublas;
    Case test(3000, 4104, 520, DType::kBfloat16);
    auto theirs = Gemm::create(runtime, test.problem, options);
    if (theirs.status().is(Code::kUnsupported)) GTEST_SKIP() << theirs.status().text();
    auto ours = Gemm::create(runtime, test.problem, options_);
    ASSERT_OK(theirs);
    ASSERT_OK(ours);
    Operand a(runtime, test.a.bits), b(runtime, test.b.bits), c(runtime, test.c.bits),
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
    Operand a(runtime, first.a.bits), b(runtime, first.b.bits), c(runtime, first.c.bits);
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

// Each GEMM reads what the one before has written, and writes what the one before that has read:
// with a weight that moves columns by one, any that begins too early leaves a column behind.
void expect_steps_in_turn(const GemmOptions& options) {
  run([&](Runtime& runtime, Stream stream) {
    constexpr int kRows = 64, kSize = 4096, kSteps = 40;
    Bits values(std::size_t{kRows} * kSize);  // from 1 to 2
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::uint16_t>(0x3f80 + (i * 2654435761u >> 16) % 128);
    Bits moving(std::size_t{kSize} * kSize, 0);
    for (std::size_t i = 0; i < kSize; ++i) moving[i * kSize + (i + 1) % kSize] = 0x3f80;
    auto gemm = Gemm::create(runtime, {kRows, kSize, kSize, DType::kBfloat16}, options);
    ASSERT_OK(gemm);
    Operand<std::uint16_t> weight(runtime, moving), x(runtime, values), y(runtime, values);
    const auto native = static_cast<cudaStream_t>(stream);
    const auto step = [&](int i) {
      auto &from = i % 2 == 0 ? x : y, &to = i % 2 == 0 ? y : x;
      if (i % 7 == 3) {  // behind something else, too
        ASSERT_EQ(cudaMemsetAsync(to.data(), 0xff, values.size() * 2, native), cudaSuccess);
      }
      ASSERT_OK((*gemm)(stream, to.data(), from.data(), weight.data()));
    };
    const auto check = [&] {
      ASSERT_OK(dev::synchronize(stream));
      const Bits got = x.read();
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < kRows; ++row) {
        for (std::size_t i = 0; i < kSize; ++i) {
          const std::size_t from = row * kSize + (i + kSteps) % kSize;
          if (got[row * kSize + i] != values[from]) ++wrong;
        }
      }
      EXPECT_EQ(wrong, 0u);
    };
    for (int i = 0; i < kSteps; ++i) step(i);
    check();

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(native, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    for (int i = 0; i < kSteps; ++i) step(i);
    ASSERT_EQ(cudaStreamEndCapture(native, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    for (int replay = 0; replay < 3; ++replay) {
      x.write(values);
      ASSERT_EQ(cudaGraphLaunch(ready, native), cudaSuccess);
      check();
    }
    EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  });
}

TEST(Gemm, StartsEarlyButReadsNothingBefore) {
  GemmOptions options;
  options.tile = "64x32";  // has 128 blocks here
  expect_steps_in_turn(options);
}

TEST(Gemm, LoadsAConstantWeightEarlyAndNothingElse) {
  GemmOptions options;
  options.constant_b = true;
  for (const char* tile : {"64x32", "64x64", "128x64/k", "128x112", "128x128", "128x256"}) {
    SCOPED_TRACE(tile);
    options.tile = tile;
    expect_steps_in_turn(options);
  }
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

}  // namespace
}  // namespace weft::kernels::test
