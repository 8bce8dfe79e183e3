// What one PE does in the tests of AgGemm: calls behind one another with fresh rows, none waited
// for, into outputs full of NaNs, compared bit by bit with Gemm of everybody's rows.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <fmt/format.h>

#include <weft/device.hpp>
#include <weft/kernels/ag_gemm.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

#include "src/base/status.hpp"
#include "tests/kernels/collective_play.hpp"

namespace weft::kernels::test {

using Bits = std::vector<std::uint16_t>;
constexpr std::uint16_t kPoison = 0xffff;  // a NaN in both types

// `rows` rows of `columns` random elements, `stride` apart; poison between them.
inline Bits random_matrix(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                          std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Bits bits(static_cast<std::size_t>(rows * stride) + 64, kPoison);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < columns; ++i) {
      const float value = normal(random);
      bits[static_cast<std::size_t>(r * stride + i)] =
          dtype == DType::kBfloat16 ? Bfloat16(value).bits : Half(value).bits;
    }
  return bits;
}

// Memory that kernels reach; goes with its runtime.
class Memory {
 public:
  static Result<Memory> create(Runtime& rt, const Bits& bits) {
    Memory made;
    made.rt_ = &rt;
    made.count_ = bits.size();
    ASSIGN_OR_RETURN(made.data_, rt.allocate_device<std::uint16_t>(bits.size(), 64));
    RETURN_IF_ERROR(rt.context().put(made.data_, bits.data(), bits.size(), rt.pe()));
    RETURN_IF_ERROR(rt.context().quiet());
    return made;
  }
  Result<Bits> read() const {
    Bits bits(count_);
    RETURN_IF_ERROR(rt_->context().get(bits.data(), data_, count_, rt_->pe()));
    return bits;
  }
  std::uint16_t* data() const { return data_; }

 private:
  Runtime* rt_ = nullptr;
  std::size_t count_ = 0;
  std::uint16_t* data_ = nullptr;
};

inline constexpr std::int64_t up8(std::int64_t value) { return (value + 7) / 8 * 8; }

// So little of a GPU that eight PEs may share it.
inline AgGemmOptions small_options(AgGemmAlgorithm algorithm) {
  AgGemmOptions options;
  options.algorithm = algorithm;
  options.push_blocks = 2;
#if !WEFT_TARGET_CPU
  options.gemm.multiprocessors = 14;
  options.gemm.tile = "128x128";
#endif
  return options;
}

struct AgGemmCall {
  std::int64_t rows;
  Memory a, c, gathered, want;
};

class AgGemmPlay {
 public:
  // `pause` is called before each call, by the host.
  AgGemmPlay(Runtime& rt, const Team& team, const GemmProblem& problem,
             const AgGemmOptions& options)
      : rt_(rt), team_(team), p_(problem), options_(options) {
    if (p_.lda == 0) p_.lda = up8(p_.k);
    if (p_.ldb == 0) p_.ldb = up8(p_.k);
    if (p_.ldc == 0) p_.ldc = up8(p_.n);
  }

  Status run(
      const std::vector<std::int64_t>& rows, std::uint64_t seed, Stream stream = nullptr,
      const std::function<void()>& pause = [] {}) {
    auto made = AgGemm::create(rt_, team_, p_, options_);
    if (!made) return std::move(made).status();
    text_ = made->describe();
    const std::uint64_t mine = seed + 7777;
    ASSIGN_OR_RETURN(
        const Memory b,
        Memory::create(rt_, random_matrix(p_.dtype, p_.n, p_.k, p_.ldb,
                                          mine + static_cast<std::uint64_t>(rt_.pe()))));
    std::vector<AgGemmCall> calls;
    for (const std::int64_t m : rows) {
      ASSIGN_OR_RETURN(AgGemmCall call, prepare(m, seed++, b));
      calls.push_back(call);
    }
    RETURN_IF_ERROR(rt_.barrier());
    int turn = 0;
    for (const AgGemmCall& call : calls) {
      pause();
      const bool gathers = p_.k % 8 == 0 && ++turn % 2 == 0;
      RETURN_IF_ERROR((*made)(stream, call.c.data(), call.a.data(), b.data(), call.rows,
                              gathers ? call.gathered.data() : nullptr));
    }
    RETURN_IF_ERROR(dev::synchronize(stream));
    turn = 0;
    for (const AgGemmCall& call : calls) {
      const bool gathers = p_.k % 8 == 0 && ++turn % 2 == 0;
      RETURN_IF_ERROR(check(call, gathers));
    }
    RETURN_IF_ERROR(rt_.health());
    return rt_.barrier();
  }

 private:
  Bits rows_of(int rank, std::int64_t m, std::uint64_t seed) const {
    return random_matrix(p_.dtype, m, p_.k, p_.lda, seed * 64 + static_cast<std::uint64_t>(rank));
  }
  // Everybody's rows, `stride` apart.
  Bits all_rows(std::int64_t m, std::int64_t stride, std::uint64_t seed) const {
    Bits all(static_cast<std::size_t>(team_.size * m * stride) + 64, kPoison);
    for (int rank = 0; rank < team_.size; ++rank) {
      const Bits one = rows_of(rank, m, seed);
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t i = 0; i < p_.k; ++i)
          all[static_cast<std::size_t>((rank * m + r) * stride + i)] =
              one[static_cast<std::size_t>(r * p_.lda + i)];
    }
    return all;
  }

  Result<AgGemmCall> prepare(std::int64_t m, std::uint64_t seed, const Memory& b) {
    AgGemmCall call;
    call.rows = m;
    const Bits c(static_cast<std::size_t>((team_.size * m + 2) * p_.ldc) + 64, kPoison);
    const Bits all = all_rows(m, p_.lda, seed);
    ASSIGN_OR_RETURN(call.a, Memory::create(rt_, rows_of(team_.rank, m, seed)));
    ASSIGN_OR_RETURN(call.c, Memory::create(rt_, c));
    ASSIGN_OR_RETURN(call.want, Memory::create(rt_, c));
    expected_gathered_.push_back(all_rows(m, p_.k, seed));
    ASSIGN_OR_RETURN(call.gathered,
                     Memory::create(rt_, Bits(expected_gathered_.back().size(), kPoison)));
    ASSIGN_OR_RETURN(const Memory rows, Memory::create(rt_, all));
    GemmProblem whole = p_;
    whole.m = team_.size * m;
    auto gemm = Gemm::create(rt_, whole, options_.gemm);
    if (!gemm) return std::move(gemm).status();
    RETURN_IF_ERROR((*gemm)(nullptr, call.want.data(), rows.data(), b.data()));
    RETURN_IF_ERROR(dev::synchronize());
    return call;
  }

  Status check(const AgGemmCall& call, bool gathers) {
    ASSIGN_OR_RETURN(const Bits c, call.c.read());
    ASSIGN_OR_RETURN(const Bits want, call.want.read());
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (c[i] == want[i]) continue;
      ADD_FAILURE() << text_ << "\n  rank " << team_.rank << ", " << call.rows << " rows: row "
                    << i / static_cast<std::size_t>(p_.ldc) << " column "
                    << i % static_cast<std::size_t>(p_.ldc)
                    << fmt::format(": {:04x}, not {:04x}", c[i], want[i]);
      break;
    }
    ASSIGN_OR_RETURN(const Bits all, call.gathered.read());
    const Bits expected = std::move(expected_gathered_.front());
    expected_gathered_.erase(expected_gathered_.begin());
    EXPECT_EQ(all, gathers ? expected : Bits(expected.size(), kPoison))
        << text_ << "\n  rank " << team_.rank << ", " << call.rows << " rows, gathered";
    return Status::ok();
  }

  Runtime& rt_;
  const Team team_;
  GemmProblem p_;
  const AgGemmOptions options_;
  std::string text_;
  std::vector<Bits> expected_gathered_;
};

}  // namespace weft::kernels::test
