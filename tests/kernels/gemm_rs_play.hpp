// GemmRs for the tests of fused operators (tests/kernels/fused_play.hpp): a PE's rows of the sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/kernels/gemm_rs.hpp>

#include "tests/kernels/one_kernel_play.hpp"
#include "tests/kernels/partial_sums.hpp"

namespace weft::kernels::test {

class GemmRsModel : public PartialSums {
 public:
  using Operator = GemmRs;
  using Options = GemmRsOptions;
  using Algorithm = GemmRsAlgorithm;
  static constexpr const char* kName = "GemmRs";
  static constexpr const char* kReport = "GemmRs";
  using PartialSums::PartialSums;

  static Options options(Algorithm algorithm) { return {algorithm, small_gemm()}; }
  static std::int64_t rows(std::int64_t each, int members) { return each * members; }
  static std::vector<GemmProblem> problems(int npes, Algorithm algorithm) {
    std::vector<GemmProblem> all = {{64 * npes, 64, 64, DType::kBfloat16},
                                    {130 * npes, 72, 24, DType::kFloat16},
                                    {65 * npes + 3, 32, 40, DType::kBfloat16, 56},
                                    {200 * npes, 8, 16, DType::kBfloat16, 16, 24, 16},
                                    {20 * npes, 136, 130, DType::kBfloat16},
                                    {0, 8, 8, DType::kBfloat16},
                                    {9, 0, 8, DType::kBfloat16},
                                    {9, 8, 0, DType::kBfloat16}};
    if (algorithm == Algorithm::kOverlapped) return all;
    // Problems that cannot overlap.
    all.push_back({1, 1, 1, DType::kBfloat16});
    all.push_back({3, 5, 7, DType::kFloat16});
    all.push_back({70, 33, 40, DType::kBfloat16});
    return all;
  }

  Result<std::vector<Bits>> outputs(std::int64_t m, std::uint64_t seed, std::size_t) const {
    std::vector<Bits> c(1);
    ASSIGN_OR_RETURN(c[0], sums(m, seed, first_of(m), rows_of(m), each_of(m)));
    return c;
  }
  Status queue(GemmRs& op, Stream stream, const std::vector<std::uint16_t*>& out, const void* a,
               const void* b, std::int64_t m) const {
    EXPECT_EQ(op.rows(m), rows_of(m));
    return op(stream, out[0], a, b, m);
  }

 private:
  std::int64_t each_of(std::int64_t m) const { return (m + team().size - 1) / team().size; }
  std::int64_t first_of(std::int64_t m) const { return std::min(m, each_of(m) * team().rank); }
  std::int64_t rows_of(std::int64_t m) const { return std::min(m - first_of(m), each_of(m)); }
};

using OneKernelGemmRsModel = OneKernelModel<GemmRsModel>;

}  // namespace weft::kernels::test
