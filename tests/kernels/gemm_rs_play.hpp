// What one PE does in the tests of GemmRs: calls behind one another with fresh operands, none
// waited for, into outputs full of NaNs, compared bit by bit with the members' own products, added
// up by the host in rank order.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <weft/kernels/gemm_rs.hpp>

#include "tests/kernels/ag_gemm_play.hpp"

namespace weft::kernels::test {

inline GemmRsOptions small_options(GemmRsAlgorithm algorithm) {
  GemmRsOptions options;
  options.algorithm = algorithm;
  options.gemm = small_options(AgGemmAlgorithm::kAuto).gemm;
  return options;
}

// Row-major with room between rows, as random_matrix() makes them.
inline GemmProblem with_strides(GemmProblem p) {
  if (p.lda == 0) p.lda = up8(p.k);
  if (p.ldb == 0) p.ldb = up8(p.k);
  if (p.ldc == 0) p.ldc = up8(p.n);
  return p;
}

inline float value_of(DType dtype, std::uint16_t bits) {
  if (dtype == DType::kBfloat16) {
    Bfloat16 value;
    value.bits = bits;
    return static_cast<float>(value);
  }
  Half value;
  value.bits = bits;
  return static_cast<float>(value);
}
inline std::uint16_t bits_of(DType dtype, float value) {
  return dtype == DType::kBfloat16 ? Bfloat16(value).bits : Half(value).bits;
}

// The operands of every member, and what the members' sum is, as this PE works it out by itself.
class PartialSums {
 public:
  PartialSums(Runtime& rt, const GemmProblem& problem, int members, GemmOptions options)
      : rt_(rt), p_(with_strides(problem)), members_(members), options_(std::move(options)) {}

  Bits a_of(int rank, std::int64_t m, std::uint64_t seed) const {
    return random_matrix(p_.dtype, m, p_.k, p_.lda, seed * 64 + static_cast<std::uint64_t>(rank));
  }
  Bits b_of(int rank) const {
    return random_matrix(p_.dtype, p_.n, p_.k, p_.ldb, 7777 + static_cast<std::uint64_t>(rank));
  }
  // [m, ldc], poison between rows: products rounded, added in rank order as float, rounded once.
  Result<Bits> sum(std::int64_t m, std::uint64_t seed) const {
    const Bits poison(static_cast<std::size_t>((m + 2) * p_.ldc) + 64, kPoison);
    GemmProblem problem = p_;
    problem.m = m;
    auto gemm = Gemm::create(rt_, problem, options_);
    if (!gemm) return std::move(gemm).status();
    std::vector<Bits> products;
    for (int rank = 0; rank < members_; ++rank) {
      ASSIGN_OR_RETURN(const Memory a, Memory::create(rt_, a_of(rank, m, seed)));
      ASSIGN_OR_RETURN(const Memory b, Memory::create(rt_, b_of(rank)));
      ASSIGN_OR_RETURN(const Memory c, Memory::create(rt_, poison));
      RETURN_IF_ERROR((*gemm)(nullptr, c.data(), a.data(), b.data()));
      RETURN_IF_ERROR(dev::synchronize());
      ASSIGN_OR_RETURN(Bits product, c.read());
      products.push_back(std::move(product));
    }
    Bits sums = poison;
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t i = 0; i < p_.n; ++i) {
        const auto at = static_cast<std::size_t>(r * p_.ldc + i);
        float sum = value_of(p_.dtype, products[0][at]);
        for (std::size_t k = 1; k < products.size(); ++k)
          sum += value_of(p_.dtype, products[k][at]);
        sums[at] = bits_of(p_.dtype, sum);
      }
    return sums;
  }
  const GemmProblem& problem() const { return p_; }

 private:
  Runtime& rt_;
  const GemmProblem p_;
  const int members_;
  const GemmOptions options_;
};

struct GemmRsCall {
  std::int64_t m;
  Memory a, c;
  Bits want;
};

// Rows [first, first + rows) of what PartialSums::sum() gave, then poison: room for `most` and
// more.
inline Bits some_rows(const Bits& sums, std::int64_t first, std::int64_t rows, std::int64_t most,
                      std::int64_t ldc) {
  const auto begin = sums.begin() + first * ldc;
  Bits some(begin, begin + rows * ldc);
  some.resize(static_cast<std::size_t>((most + 2) * ldc) + 64, kPoison);
  return some;
}

inline void expect_same(const Bits& is, const Bits& want, std::int64_t ldc,
                        const std::string& text) {
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (is[i] == want[i]) continue;
    ADD_FAILURE() << text
                  << fmt::format(": row {} column {}: {:04x}, not {:04x}",
                                 i / static_cast<std::size_t>(ldc),
                                 i % static_cast<std::size_t>(ldc), is[i], want[i]);
    return;
  }
}

class GemmRsPlay {
 public:
  GemmRsPlay(Runtime& rt, const Team& team, const GemmProblem& problem,
             const GemmRsOptions& options)
      : rt_(rt), team_(team), options_(options), sums_(rt, problem, team.size, options.gemm) {}

  // `pause` is called before each call, by the host.
  Status run(
      const std::vector<std::int64_t>& rows, std::uint64_t seed, Stream stream = nullptr,
      const std::function<void()>& pause = [] {}) {
    auto made = GemmRs::create(rt_, team_, sums_.problem(), options_);
    if (!made) return std::move(made).status();
    ASSIGN_OR_RETURN(const Memory b, Memory::create(rt_, sums_.b_of(team_.rank)));
    std::vector<GemmRsCall> calls;
    for (const std::int64_t m : rows) {
      ASSIGN_OR_RETURN(GemmRsCall call, prepare(m, seed++));
      EXPECT_EQ(made->rows(m), rows_of(m));
      calls.push_back(std::move(call));
    }
    RETURN_IF_ERROR(rt_.barrier());
    for (const GemmRsCall& call : calls) {
      pause();
      RETURN_IF_ERROR((*made)(stream, call.c.data(), call.a.data(), b.data(), call.m));
    }
    RETURN_IF_ERROR(dev::synchronize(stream));
    for (const GemmRsCall& call : calls) {
      ASSIGN_OR_RETURN(const Bits c, call.c.read());
      expect_same(c, call.want, sums_.problem().ldc,
                  fmt::format("{}\n  rank {}, {} rows", made->describe(), team_.rank, call.m));
    }
    RETURN_IF_ERROR(rt_.health());
    return rt_.barrier();
  }

 private:
  std::int64_t each_of(std::int64_t m) const { return (m + team_.size - 1) / team_.size; }
  std::int64_t first_of(std::int64_t m) const { return std::min(m, each_of(m) * team_.rank); }
  std::int64_t rows_of(std::int64_t m) const { return std::min(m - first_of(m), each_of(m)); }
  Result<GemmRsCall> prepare(std::int64_t m, std::uint64_t seed) {
    GemmRsCall call;
    call.m = m;
    ASSIGN_OR_RETURN(const Bits sums, sums_.sum(m, seed));
    call.want = some_rows(sums, first_of(m), rows_of(m), each_of(m), sums_.problem().ldc);
    ASSIGN_OR_RETURN(call.a, Memory::create(rt_, sums_.a_of(team_.rank, m, seed)));
    ASSIGN_OR_RETURN(call.c, Memory::create(rt_, Bits(call.want.size(), kPoison)));
    return call;
  }

  Runtime& rt_;
  const Team team_;
  const GemmRsOptions options_;
  const PartialSums sums_;
};

}  // namespace weft::kernels::test
