// A sum of products for the tests of fused operators (tests/kernels/fused_play.hpp), of which what
// overlaps is the one kernel of few rows. There may be many here: as many as one wave on a small
// part of a GPU takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <weft/kernels/gemm.hpp>

#include "tests/kernels/fused_play.hpp"

namespace weft::kernels::test {

template <class Model>
class OneKernelModel : public Model {
 public:
  using Algorithm = typename Model::Algorithm;
  static constexpr const char* kReport = Model::kName;
  using Model::Model;

  static typename Model::Options options(Algorithm algorithm) {
    typename Model::Options options = Model::options(algorithm);
    if (algorithm != Algorithm::kOverlapped) return options;
    options.algorithm = Algorithm::kOneKernel;
    if (!options.gemm.tile.empty()) {
      options.gemm.tile = "64x64/k";
      options.gemm.num_sms = 16;
    }
    return options;
  }
  static std::int64_t rows(std::int64_t each, int members) {
    return WEFT_TARGET_CPU ? Model::rows(each, members) : each;
  }
  static std::vector<GemmProblem> problems(int npes, Algorithm) {
    return Model::problems(WEFT_TARGET_CPU ? npes : std::min(npes, 3), Algorithm::kAuto);
  }
};

}  // namespace weft::kernels::test
