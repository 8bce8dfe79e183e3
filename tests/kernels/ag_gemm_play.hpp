// AgGemm for the tests of fused operators (tests/kernels/fused_play.hpp): Gemm of everybody's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <weft/kernels/ag_gemm.hpp>

#include "tests/kernels/fused_play.hpp"

namespace weft::kernels::test {

class AgGemmModel {
 public:
  using Operator = AgGemm;
  using Options = AgGemmOptions;
  using Algorithm = AgGemmAlgorithm;
  static constexpr const char* kName = "AgGemm";
  static constexpr const char* kReport = "AgGemm";

  static Options options(Algorithm algorithm) { return {algorithm, 2, small_gemm()}; }
  static std::int64_t rows(std::int64_t each, int) { return each; }
  // Edges of the pieces that travel, too; the last has rows of several parts.
  static std::vector<GemmProblem> problems(int, Algorithm) {
    return {{1, 1, 1, DType::kBfloat16},        {3, 5, 7, DType::kFloat16},
            {64, 64, 64, DType::kBfloat16},     {130, 70, 24, DType::kFloat16},
            {65, 33, 40, DType::kBfloat16, 56}, {200, 9, 16, DType::kBfloat16, 16, 24, 16},
            {0, 8, 8, DType::kBfloat16},        {9, 0, 8, DType::kBfloat16},
            {9, 8, 0, DType::kBfloat16},        {20, 100, 130, DType::kBfloat16},
            {66, 8, 1096, DType::kFloat16}};
  }

  AgGemmModel(Runtime& rt, const Team& team, const GemmProblem& problem, GemmOptions options)
      : rt_(&rt), team_(team), p_(problem), options_(std::move(options)) {}
  const GemmProblem& problem() const { return p_; }

  Bits b() const {
    return random_matrix(p_.dtype, p_.n, p_.k, p_.ldb, 7777 + static_cast<unsigned>(team_.rank));
  }
  Bits a(std::int64_t m, std::uint64_t seed) const { return rows_of(team_.rank, m, seed); }
  // c; every other call asks for the rows as well.
  Result<std::vector<Bits>> outputs(std::int64_t m, std::uint64_t seed,
                                    std::size_t iteration) const {
    GemmProblem whole = p_;
    whole.m = team_.size * m;
    ASSIGN_OR_RETURN(const Memory a, Memory::create(*rt_, all_rows(m, p_.lda, seed)));
    ASSIGN_OR_RETURN(const Memory weight, Memory::create(*rt_, b()));
    ASSIGN_OR_RETURN(const Memory c, Memory::create(*rt_, poisoned(whole.m, p_.ldc)));
    auto gemm = Gemm::create(*rt_, whole, options_);
    if (!gemm) return std::move(gemm).status();
    RETURN_IF_ERROR((*gemm)(nullptr, c.data(), a.data(), weight.data()));
    RETURN_IF_ERROR(dev::synchronize());
    std::vector<Bits> all(1);
    ASSIGN_OR_RETURN(all[0], c.read());
    if (p_.k % 8 == 0 && iteration % 2 == 1) all.push_back(all_rows(m, p_.k, seed));
    return all;
  }
  Status queue(AgGemm& op, Stream stream, const std::vector<std::uint16_t*>& out, const void* a,
               const void* b, std::int64_t m) const {
    return op(stream, out[0], a, b, m, out.size() > 1 ? out[1] : nullptr);
  }

 private:
  Bits rows_of(int rank, std::int64_t m, std::uint64_t seed) const {
    return random_matrix(p_.dtype, m, p_.k, p_.lda, seed * 64 + static_cast<unsigned>(rank));
  }
  // Everybody's rows, `stride` apart.
  Bits all_rows(std::int64_t m, std::int64_t stride, std::uint64_t seed) const {
    Bits all = poisoned(team_.size * m, stride);
    for (int rank = 0; rank < team_.size; ++rank) {
      const Bits one = rows_of(rank, m, seed);
      for (std::int64_t r = 0; r < m; ++r)
        std::copy_n(one.begin() + r * p_.lda, p_.k, all.begin() + (rank * m + r) * stride);
    }
    return all;
  }

  Runtime* rt_;
  Team team_;
  GemmProblem p_;
  GemmOptions options_;
};

}  // namespace weft::kernels::test
