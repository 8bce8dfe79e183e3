// Calls of GemmRs and GemmAr that send tiles as they come: what all members have to agree on, and
// the memory that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/core/memory.hpp"
#include "kernels/gemm_rs/overlap.hpp"
#include "kernels/gemm_rs/plan.hpp"

namespace weft::kernels::gemm_rs {

// Of the operator `who` all PEs have given the same, `algorithm` its own; the team's size, which
// they may not all know. Collective over the job.
Result<int> agree_on(Runtime& runtime, const char* who, const Team& team,
                     const GemmProblem& problem, std::uint64_t algorithm,
                     const GemmOptions& options);

// Whether all PEs can, and what `machine` has of all that they have: so all come to the same plan.
// Collective over the job. PEs that have the same GPU get a part of it each, where it `is_shared`
// out.
Result<bool> agree_on_machine(Runtime& runtime, bool can, bool is_shared, gemm::Machine* machine);

// Which calls overlap.
enum class Which { kNone, kThatPay, kAll };
// Whether those do, on GPUs, whose members have so many rows each.
using Pays = bool(const Shape& shape, const gemm::Machine& machine, int tile);

class Overlapped {
 public:
  // `problem`: checked, strides and all. Collective over the job. kUnsupported: all should overlap,
  // and none can.
  static Result<Overlapped> create(Runtime& runtime, const char* who, const Team& team,
                                   int team_size, const GemmProblem& problem,
                                   const GemmOptions& options, bool gpu, Which which, Pays pays);

  // Whether a call with m rows may go by run().
  bool takes(std::int64_t m) const { return overlap_ != nullptr && m >= from_ && m % size_ == 0; }
  // c: my rows, m / team size of them.
  Status run(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const {
    return overlap_->run(stream, c, a, b, static_cast<int>(m / size_));
  }
  // "": never.
  std::string describe() const;
  std::size_t workspace_bytes() const { return record_.bytes() + staging_.bytes(); }

 private:
  Status choose(Runtime& runtime, const char* who, const Team& team, const GemmProblem& problem,
                const GemmOptions& options, bool gpu, Which which, Pays pays);
  Status share(Runtime& runtime, const Team& team);

  int size_ = 1;
  std::int64_t from_ = 0;  // rows
  SymmetricMemory record_, staging_;
  std::unique_ptr<Overlap> overlap_;
};

}  // namespace weft::kernels::gemm_rs
