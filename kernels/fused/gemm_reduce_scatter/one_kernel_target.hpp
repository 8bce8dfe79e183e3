// OneKernelTarget: the GEMM of few rows and the sum over the members in one kernel, as a target
// does it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>
#include <weft/stream.hpp>

#include "kernels/fused/gemm_reduce_scatter/members.hpp"
#include "kernels/gemm/plan.hpp"

namespace weft::kernels::gemm_rs {

class OneKernelTarget {
 public:
  virtual ~OneKernelTarget() = default;
  // The words of a slot, for the largest call.
  virtual std::uint64_t words() const = 0;
  // c: my rows of the sum, or all of it. 0 < rows <= problem.m.
  virtual Status run(Stream stream, const OneKernelMembers& members, void* c, const void* a,
                     const void* b, int rows) = 0;
  virtual std::string describe() const = 0;
};

// As rows of WEFT_GEMM_ONE_KERNEL make them (backends.def.hpp), on GPUs with a tile of
// kOneKernelTiles, or the plan's (-1).
using MakeOneKernel = Result<std::unique_ptr<OneKernelTarget>>(const GemmProblem& problem,
                                                               int members,
                                                               const DeviceModel& device, int tile,
                                                               bool scatters);
#define WEFT_GEMM_ONE_KERNEL(name, architectures, dtypes) MakeOneKernel make_one_kernel_##name;
#include "kernels/gemm/backends.def.hpp"

// The SMs and clusters of the current GPU that may take part; no SMs: it has no kernels that can.
Result<DeviceModel> one_kernel_device_model(const GemmOptions& options);

}  // namespace weft::kernels::gemm_rs
