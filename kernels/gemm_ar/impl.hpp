// What a GemmAr is made of: a product that sends its tiles to all, one that sends them to the
// owners of rows and AllGather, and Gemm and AllReduce for calls that go one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <weft/kernels/collectives.hpp>
#include <weft/kernels/gemm_ar.hpp>

#include "kernels/core/memory.hpp"
#include "kernels/gemm_rs/direct.hpp"
#include "kernels/gemm_rs/overlapped.hpp"

namespace weft::kernels::gemm_ar {

class Impl {
 public:
  static Result<std::unique_ptr<Impl>> create(Runtime& runtime, const Team& team,
                                              const GemmProblem& problem,
                                              const GemmArOptions& options);

  Status run(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const;
  std::string describe() const;
  std::size_t workspace_bytes() const;
  std::int64_t most_rows() const { return p_.m; }

 private:
  Impl(const Team& team, const GemmProblem& problem) : team_(team), p_(problem) {}

  Status make_sequence(Runtime& runtime, const GemmOptions& options);
  Status make_gather(Runtime& runtime);
  Status check_call(const void* c, const void* a, const void* b, std::int64_t m) const;
  Status run_sequence(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const;
  Status run_overlapped(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const;
  // Elements of a row where collectives work.
  std::int64_t stride() const { return (p_.n + 7) / 8 * 8; }
  // They work on c itself; else on product_.
  bool is_close() const { return p_.ldc == p_.n && p_.n == stride(); }

  const Team team_;
  const GemmProblem p_;
  bool gpu_ = false;
  int team_size_ = 1;  // the same on all PEs of the job
  std::optional<gemm_rs::Direct> direct_;
  std::optional<gemm_rs::Overlapped> overlapped_;
  SymmetricMemory product_;
  mutable std::optional<AllGather> gather_;
  mutable std::optional<Gemm> gemm_;
  mutable std::optional<AllReduce> reduce_;
};

}  // namespace weft::kernels::gemm_ar
