// GemmRs against the members' products and their sum, on host threads; compiled for CUDA, on GPUs.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/fused_suite.hpp"
#include "tests/kernels/gemm_rs_play.hpp"

namespace weft::kernels::test {

using GemmRsTest = ModelTest<GemmRsModel>;
TEST_P(GemmRsTest, EqualsGemmThenReduceScatter) { equals_the_model(); }
INSTANTIATE_TEST_SUITE_P(Algorithms, GemmRsTest, GemmRsTest::cases(), GemmRsTest::name);

using OneKernelGemmRsTest = ModelTest<OneKernelGemmRsModel>;
TEST_P(OneKernelGemmRsTest, EqualsGemmThenReduceScatter) { equals_the_model(); }
INSTANTIATE_TEST_SUITE_P(Algorithms, OneKernelGemmRsTest, OneKernelGemmRsTest::cases(),
                         OneKernelGemmRsTest::name);

INSTANTIATE_TYPED_TEST_SUITE_P(Operators, FusedTest, GemmRsModel, NameOfModel);
INSTANTIATE_TYPED_TEST_SUITE_P(OneKernel, FusedTest, OneKernelGemmRsModel, NameOfModel);

namespace {

// Against sums in double: what is rounded is each PE's GEMM, and the sum.
TEST(GemmRs, IsNearTheExactSum) {
  EXPECT_OK(run_local(
      3,
      [](Runtime& rt) -> Status {
        const GemmProblem p = with_strides({3 * 70, 40, 300, DType::kBfloat16});
        std::vector<Bits> as, bs;
        for (const unsigned rank : {0, 1, 2}) {
          as.push_back(random_matrix(p.dtype, p.m, p.k, p.lda, 64 * test_seed() + rank));
          bs.push_back(random_matrix(p.dtype, p.n, p.k, p.ldb, 64 * test_seed() + rank + 32));
        }
        const auto mine = static_cast<std::size_t>(rt.pe());
        for (const auto algorithm : {GemmRsAlgorithm::kSequential, GemmRsAlgorithm::kOverlapped,
                                     GemmRsAlgorithm::kOneKernel}) {
          const bool in_one_kernel = algorithm == GemmRsAlgorithm::kOneKernel;
          auto op = GemmRs::create(rt, p,
                                   in_one_kernel
                                       ? OneKernelGemmRsModel::options(GemmRsAlgorithm::kOverlapped)
                                       : GemmRsModel::options(algorithm));
          if (!op) return std::move(op).status();
          ASSIGN_OR_RETURN(const Memory a, Memory::create(rt, as[mine]));
          ASSIGN_OR_RETURN(const Memory b, Memory::create(rt, bs[mine]));
          ASSIGN_OR_RETURN(const Memory c, Memory::create(rt, Bits(70 * 40, kPoison)));
          RETURN_IF_ERROR((*op)(nullptr, c.data(), a.data(), b.data()));
          RETURN_IF_ERROR(dev::synchronize());
          ASSIGN_OR_RETURN(const Bits is, c.read());
          for (std::int64_t r = 0; r < 70; ++r)
            for (std::int64_t j = 0; j < 40; ++j) {
              double sum = 0, bound = 1e-6;
              for (std::size_t rank = 0; rank < 3; ++rank) {
                double dot = 0, sizes = 0;
                for (std::int64_t i = 0; i < p.k; ++i) {
                  const auto x = static_cast<std::size_t>((rt.pe() * 70 + r) * p.lda + i);
                  const auto y = static_cast<std::size_t>(j * p.ldb + i);
                  const double term = static_cast<double>(value_of(p.dtype, as[rank][x])) *
                                      value_of(p.dtype, bs[rank][y]);
                  dot += term;
                  sizes += std::abs(term);
                }
                sum += dot;
                bound += 0x1p-8 * std::abs(dot) + 4 * std::sqrt(300.0) * 0x1p-24 * sizes;
              }
              bound += 0x1p-8 * (std::abs(sum) + bound);
              const double got = value_of(p.dtype, is[static_cast<std::size_t>(r * 40 + j)]);
              EXPECT_LE(std::abs(got - sum), bound) << "row " << r << " column " << j;
            }
          RETURN_IF_ERROR(rt.barrier());
        }
        return rt.health();
      },
      job_options()));
}

// Less than one for each.
TEST(GemmRs, OverlapsNoFewerRowsThanMembers) {
  EXPECT_OK(run_local(
      2,
      [](Runtime& rt) -> Status {
        const auto made = GemmRs::create(rt, {1, 16, 16, DType::kBfloat16},
                                         GemmRsModel::options(GemmRsAlgorithm::kOverlapped));
        expect_refused(made.status(), Code::kUnsupported, "a row for each member");
        return rt.barrier();
      },
      job_options()));
}

}  // namespace
}  // namespace weft::kernels::test
