// Calls of GemmRs and GemmAr of few rows that go in one kernel: what all members have to agree on,
// and the memory that they share.
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
#include "kernels/gemm_rs/direct_kernel.hpp"
#include "kernels/gemm_rs/direct_plan.hpp"
#include "kernels/gemm_rs/overlapped.hpp"

namespace weft::kernels::gemm_rs {

class Direct {
 public:
  // `problem`: checked, strides and all. `scatters`: each member gets its rows of the sum, as of a
  // GemmRs, or all of it, as of a GemmAr. Collective over the job. kUnsupported: all calls should
  // go so, and cannot.
  static Result<Direct> create(Runtime& runtime, const Team& team, int team_size,
                               const GemmProblem& problem, const GemmOptions& options, bool gpu,
                               Which which, bool scatters);

  // Whether a call with m rows may go by run().
  bool takes(std::int64_t m) const {
    return kernel_ != nullptr && m <= most_ && (!takes_whole_tiles_ || are_whole_tiles(m));
  }
  Status run(Stream stream, void* c, const void* a, const void* b, std::int64_t m) const {
    return kernel_->run(stream, c, a, b, static_cast<int>(m));
  }
  // "": never.
  std::string describe() const;
  std::size_t workspace_bytes() const { return record_.bytes() + words_.bytes(); }

 private:
  Status choose(Runtime& runtime, const Team& team, const GemmProblem& problem,
                const GemmOptions& options, bool gpu, Which which, bool scatters);
  Status share(Runtime& runtime, const Team& team);

  int size_ = 1;
  std::int64_t most_ = 0;  // rows
  bool takes_whole_tiles_ = false;
  SymmetricMemory record_, words_;
  std::unique_ptr<DirectKernel> kernel_;
};

}  // namespace weft::kernels::gemm_rs
