// DirectKernel: the product of few rows and the sum over the members in one kernel, as a target
// does it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/gemm/plan.hpp"
#include "kernels/gemm_rs/direct_space.hpp"

namespace weft::kernels::gemm_rs {

class DirectKernel {
 public:
  virtual ~DirectKernel() = default;
  // Of a slot, for the largest call.
  virtual std::uint64_t words() const = 0;
  // Before the first run(). Collective.
  virtual Status use(Runtime& runtime, const Team& team, const DirectSpace& space) = 0;
  // c: my rows of the sum, or all of it. 0 < rows <= problem.m.
  virtual Status run(Stream stream, void* c, const void* a, const void* b, int rows) = 0;
  virtual std::string describe() const = 0;
};

std::unique_ptr<DirectKernel> make_host_direct(const GemmProblem& problem, int members,
                                               bool scatters);
// On the current GPU; problem.m rows go by that plan.
Result<std::unique_ptr<DirectKernel>> make_gpu_direct(const GemmProblem& problem, int members,
                                                      const gemm::Machine& machine, int tile,
                                                      bool scatters);
// What of the current GPU may take part; no multiprocessors: none has kernels that can.
Result<gemm::Machine> direct_machine(const GemmOptions& options);

}  // namespace weft::kernels::gemm_rs
