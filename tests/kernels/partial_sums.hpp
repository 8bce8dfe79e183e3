// Products whose sum over k is spread over the members of a team, and what their sum is, as one PE
// works it out by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <weft/kernels/gemm.hpp>

#include "tests/kernels/fused_play.hpp"

namespace weft::kernels::test {

class PartialSums {
 public:
  PartialSums(Runtime& rt, const Team& team, const GemmProblem& problem, GemmOptions options)
      : rt_(&rt), team_(team), p_(problem), options_(std::move(options)) {}
  const GemmProblem& problem() const { return p_; }
  const Team& team() const { return team_; }

  // A member's operands. Ranks 1 and 2 have large products that cancel each other, where there are
  // more: what rank 0 has loses bits to the first, so that a sum in another order is another one.
  Bits a_of(int rank, std::int64_t m, std::uint64_t seed) const {
    Bits bits = random_matrix(p_.dtype, m, p_.k, p_.lda, seed * 64 + source(rank));
    if (!cancels(rank)) return bits;
    for (std::uint16_t& one : bits)
      if (one != kPoison)
        one = bits_of(p_.dtype, value_of(p_.dtype, one) * (rank == 1 ? kLarge : -kLarge));
    return bits;
  }
  Bits b_of(int rank) const {
    return random_matrix(p_.dtype, p_.n, p_.k, p_.ldb, 7777 + source(rank));
  }
  Bits a(std::int64_t m, std::uint64_t seed) const { return a_of(team_.rank, m, seed); }
  Bits b() const { return b_of(team_.rank); }

  // Rows [first, first + rows) of m, with room for `most` (on every PE alike): products rounded,
  // added in rank order as float, rounded once.
  Result<Bits> sums(std::int64_t m, std::uint64_t seed, std::int64_t first, std::int64_t rows,
                    std::int64_t most) const {
    GemmProblem problem = p_;
    problem.m = rows;
    auto gemm = Gemm::create(*rt_, problem, options_);
    if (!gemm) return std::move(gemm).status();
    std::vector<Bits> partials;
    for (int rank = 0; rank < team_.size; ++rank) {
      const Bits part = some_rows(a_of(rank, m, seed), first, rows, most, p_.lda);
      ASSIGN_OR_RETURN(const Memory a, Memory::create(*rt_, part));
      ASSIGN_OR_RETURN(const Memory b, Memory::create(*rt_, b_of(rank)));
      ASSIGN_OR_RETURN(const Memory c, Memory::create(*rt_, poisoned(most, p_.ldc)));
      RETURN_IF_ERROR((*gemm)(nullptr, c.data(), a.data(), b.data()));
      RETURN_IF_ERROR(dev::synchronize());
      ASSIGN_OR_RETURN(Bits partial, c.read());
      partials.push_back(std::move(partial));
    }
    Bits sums = poisoned(most, p_.ldc);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < p_.n; ++i) {
        const auto at = static_cast<std::size_t>(r * p_.ldc + i);
        float sum = value_of(p_.dtype, partials[0][at]);
        for (std::size_t k = 1; k < partials.size(); ++k)
          sum += value_of(p_.dtype, partials[k][at]);
        sums[at] = bits_of(p_.dtype, sum);
      }
    return sums;
  }

 private:
  static constexpr float kLarge = 0x1p18f;  // a float16 has no such numbers
  bool cancels(int rank) const {
    return p_.dtype == DType::kBfloat16 && team_.size > 2 && (rank == 1 || rank == 2);
  }
  unsigned source(int rank) const { return cancels(rank) ? 1 : static_cast<unsigned>(rank); }

  Runtime* rt_;
  Team team_;
  GemmProblem p_;
  GemmOptions options_;
};

}  // namespace weft::kernels::test
