// GemmAr against the members' products and their sum, on host threads; compiled for CUDA, on GPUs.
#include <gtest/gtest.h>

#include "tests/kernels/fused_suite.hpp"
#include "tests/kernels/gemm_ar_play.hpp"

namespace weft::kernels::test {

using GemmArTest = ModelTest<GemmArModel>;
TEST_P(GemmArTest, EqualsGemmThenAllReduce) { equals_the_model(); }
INSTANTIATE_TEST_SUITE_P(Algorithms, GemmArTest, GemmArTest::cases(), GemmArTest::name);

using OneKernelGemmArTest = ModelTest<OneKernelGemmArModel>;
TEST_P(OneKernelGemmArTest, EqualsGemmThenAllReduce) { equals_the_model(); }
INSTANTIATE_TEST_SUITE_P(Algorithms, OneKernelGemmArTest, OneKernelGemmArTest::cases(),
                         OneKernelGemmArTest::name);

#if !WEFT_TARGET_CPU  // host threads go from tile to tile as it is
using WavesGemmArTest = ModelTest<WavesGemmArModel>;
TEST_P(WavesGemmArTest, EqualsGemmThenAllReduce) { equals_the_model(); }
INSTANTIATE_TEST_SUITE_P(Algorithms, WavesGemmArTest,
                         ::testing::Combine(::testing::Values(GemmArAlgorithm::kOverlapped),
                                            ::testing::Range(1, 9)),
                         WavesGemmArTest::name);
INSTANTIATE_TYPED_TEST_SUITE_P(Waves, FusedTest, WavesGemmArModel, NameOfModel);
#endif

INSTANTIATE_TYPED_TEST_SUITE_P(Operators, FusedTest, GemmArModel, NameOfModel);
INSTANTIATE_TYPED_TEST_SUITE_P(OneKernel, FusedTest, OneKernelGemmArModel, NameOfModel);

namespace {

// Less than one for each.
TEST(GemmAr, OverlapsNoFewerRowsThanMembers) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const auto made = GemmAr::create(rt, {1, 16, 16, DType::kBfloat16},
                                         GemmArModel::options(GemmArAlgorithm::kOverlapped));
        expect_refused(made.status(), Code::kUnsupported, "a row for each member");
        return rt.barrier();
      },
      job_options()));
}

}  // namespace
}  // namespace weft::kernels::test
