// GemmAr for the tests of fused operators (tests/kernels/fused_play.hpp): the whole sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/kernels/gemm_ar.hpp>

#include "tests/kernels/one_kernel_play.hpp"
#include "tests/kernels/partial_sums.hpp"

namespace weft::kernels::test {

class GemmArModel : public PartialSums {
 public:
  using Operator = GemmAr;
  using Options = GemmArOptions;
  using Algorithm = GemmArAlgorithm;
  static constexpr const char* kName = "GemmAr";
  static constexpr const char* kReport = "GemmRs";
  using PartialSums::PartialSums;

  static Options options(Algorithm algorithm) { return {algorithm, small_gemm()}; }
  static std::int64_t rows(std::int64_t each, int members) { return each * members; }
  static std::vector<GemmProblem> problems(int npes, Algorithm algorithm) {
    std::vector<GemmProblem> all = {{64 * npes, 64, 64, DType::kBfloat16},
                                    {65 * npes + 3, 32, 40, DType::kFloat16, 56},
                                    {40 * npes, 24, 16, DType::kBfloat16, 0, 0, 40},
                                    {0, 8, 8, DType::kBfloat16},
                                    {9, 0, 8, DType::kBfloat16},
                                    {9, 8, 0, DType::kBfloat16}};
    if (algorithm == Algorithm::kOverlapped) return all;
    // Problems that cannot overlap as rows of each.
    all.push_back({1, 1, 1, DType::kBfloat16});
    all.push_back({70, 33, 40, DType::kFloat16});
    return all;
  }

  Result<std::vector<Bits>> outputs(std::int64_t m, std::uint64_t seed, std::size_t) const {
    std::vector<Bits> c(1);
    ASSIGN_OR_RETURN(c[0], sums(m, seed, 0, m, m));
    return c;
  }
  Status queue(GemmAr& op, Stream stream, const std::vector<std::uint16_t*>& out, const void* a,
               const void* b, std::int64_t m) const {
    return op(stream, out[0], a, b, m);
  }
};

using OneKernelGemmArModel = OneKernelModel<GemmArModel>;

// The same of many rows, in waves of a few tiles.
class WavesGemmArModel : public OneKernelGemmArModel {
 public:
  using OneKernelGemmArModel::OneKernelGemmArModel;

  static Options options(Algorithm algorithm) {
    Options options = OneKernelGemmArModel::options(algorithm);
    if (algorithm == Algorithm::kOverlapped) {
      options.gemm.tile = "128x80";
      options.gemm.num_sms = 4;
    }
    return options;
  }
  static std::int64_t rows(std::int64_t each, int members) {
    return GemmArModel::rows(each, members);
  }
  static std::vector<GemmProblem> problems(int npes, Algorithm) {
    std::vector<GemmProblem> all = GemmArModel::problems(npes, Algorithm::kAuto);
    all.push_back({300, 328, 40, DType::kBfloat16});
    all.push_back({131, 555, 72, DType::kFloat16});
    return all;
  }
};

}  // namespace weft::kernels::test
