// What an AgGemm is made of: memory that all members see, the product beside the push, and
// AllGather and Gemm for calls that go one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <weft/kernels/ag_gemm.hpp>
#include <weft/kernels/collectives.hpp>

#include "kernels/ag_gemm/call.hpp"
#include "kernels/ag_gemm/overlap.hpp"
#include "kernels/ag_gemm/plan.hpp"
#include "kernels/core/memory.hpp"

namespace weft::kernels::ag_gemm {

class Impl {
 public:
  static Result<std::unique_ptr<Impl>> create(Runtime& runtime, const Team& team,
                                              const GemmProblem& problem,
                                              const AgGemmOptions& options);

  Status run(Stream stream, void* c, const void* a, const void* b, std::int64_t m,
             void* gathered) const;
  std::string describe() const;
  std::size_t workspace_bytes() const;
  std::int64_t most_rows() const { return p_.m; }

 private:
  Impl(const Team& team, const GemmProblem& problem, const AgGemmOptions& options)
      : team_(team), p_(problem), options_(options) {}

  Status agree_with_all(Runtime& runtime);
  Status make_flags(Runtime& runtime);
  Status choose(Runtime& runtime);
  Status make_overlap(Runtime& runtime);
  Status make_sequence(Runtime& runtime);
  Result<int> multiprocessors() const;

  Status check_call(const void* c, const void* a, const void* b, std::int64_t m,
                    const void* gathered) const;
  Status run_overlapped(Stream stream, void* c, const std::byte* a, const void* b, int m,
                        std::byte* gathered) const;
  Status run_sequence(Stream stream, void* c, const std::byte* a, const void* b, int m,
                      std::byte* gathered) const;
  Status copy_out(Stream stream, const PushCall& push, std::byte* gathered) const;

  // Bytes from row to row: of a, and where rows of all are.
  std::size_t stride() const { return static_cast<std::size_t>(p_.lda) * bytes_of(p_.dtype); }
  std::size_t gathered_stride() const;
  std::size_t row_bytes() const { return static_cast<std::size_t>(p_.k) * bytes_of(p_.dtype); }

  const Team team_;
  const GemmProblem p_;  // m: rows of each
  AgGemmOptions options_;
  DeviceContext handle_;
  bool gpu_ = false;
  int team_size_ = 1;  // the same on all PEs of the job
  Plan plan_;
  Gathering gathering_;
  SymmetricMemory flags_, segments_, sequence_rows_;
  std::unique_ptr<Overlap> overlap_;
  // For at most so many rows of each, one after the other.
  std::int64_t sequence_most_ = 0;
  mutable std::optional<AllGather> all_gather_;
  mutable std::optional<Gemm> gemm_;
};

}  // namespace weft::kernels::ag_gemm
