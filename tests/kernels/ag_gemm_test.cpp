// AgGemm against AllGather's rows and Gemm, on host threads; compiled for CUDA, on GPUs.
#include <gtest/gtest.h>

#include "tests/kernels/ag_gemm_play.hpp"
#include "tests/kernels/fused_suite.hpp"

namespace weft::kernels::test {

using AgGemmTest = ModelTest<AgGemmModel>;
TEST_P(AgGemmTest, EqualsAllGatherThenGemm) { equals_the_model(); }
INSTANTIATE_TEST_SUITE_P(Algorithms, AgGemmTest, AgGemmTest::cases(), AgGemmTest::name);

INSTANTIATE_TYPED_TEST_SUITE_P(Operators, FusedTest, AgGemmModel, NameOfModel);

namespace {

TEST(AgGemm, RefusesWhatOnlyItHas) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        GemmProblem problem{1ll << 30, 16, 16, DType::kBfloat16};
        AgGemmOptions options = AgGemmModel::options(AgGemmAlgorithm::kAuto);
        expect_refused(AgGemm::create(rt, problem, options).status(), Code::kInvalidArgument,
                       "of each of 2 members");
        problem.m = 16;
        auto op = AgGemm::create(rt, problem, options);
        if (!op) return std::move(op).status();
        ASSIGN_OR_RETURN(const Memory memory, Memory::create(rt, Bits(4096, kPoison)));
        std::uint16_t* const at = memory.data();
        expect_refused((*op)(nullptr, at, at, at, 16, at + 1), Code::kInvalidArgument,
                       "gathered is");
        options.push_blocks = 1000;
        expect_refused(AgGemm::create(rt, problem, options).status(), Code::kInvalidArgument,
                       "push_blocks is 1000");
        return rt.barrier();
      },
      job_options()));
}

}  // namespace
}  // namespace weft::kernels::test
