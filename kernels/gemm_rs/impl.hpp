// What a GemmRs is made of: products that send few rows by words and many by tiles, and Gemm and
// ReduceScatter for calls that go one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <weft/kernels/collectives.hpp>
#include <weft/kernels/gemm_rs.hpp>

#include "kernels/core/memory.hpp"
#include "kernels/gemm_rs/direct.hpp"
#include "kernels/gemm_rs/overlapped.hpp"

namespace weft::kernels::gemm_rs {

class Impl {
 public:
  static Result<std::unique_ptr<Impl>> create(Runtime& runtime, const Team& team,
                                              const GemmProblem& problem,
                                              const GemmRsOptions& options);

  Status run(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const;
  std::string describe() const;
  std::size_t workspace_bytes() const;
  std::int64_t most_rows() const { return p_.m; }
  std::int64_t rows(std::int64_t m) const;  // of mine

 private:
  Impl(const Team& team, const GemmProblem& problem, const GemmOptions& options)
      : team_(team), p_(problem), options_(options) {}

  Status make_sequence(Runtime& runtime);
  Status check_call(const void* c, const void* a, const void* b, std::int64_t m) const;
  Status run_sequence(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const;
  // Elements of a row of the whole product.
  std::int64_t stride() const { return (p_.n + 7) / 8 * 8; }

  const Team team_;
  const GemmProblem p_;
  const GemmOptions options_;
  bool gpu_ = false;
  int team_size_ = 1;  // the same on all PEs of the job
  std::optional<Direct> direct_;
  std::optional<Overlapped> overlapped_;
  SymmetricMemory product_, my_rows_;
  mutable std::optional<Gemm> gemm_;
  mutable std::optional<ReduceScatter> scatter_;
};

}  // namespace weft::kernels::gemm_rs
