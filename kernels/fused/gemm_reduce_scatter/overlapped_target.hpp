// OverlappedTarget: the GEMM and the sum over the members at once, as a target does it.
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

// The needs of an OverlappedTarget in the workspace, for its largest call: tiles of a member's
// rows, and of each its bytes and its flags.
struct Needs {
  std::uint64_t tiles = 0, tile_bytes = 0, tile_flags = 0;
};

class OverlappedTarget {
 public:
  virtual ~OverlappedTarget() = default;
  virtual Needs needs() const = 0;
  // c[rows, n]: my rows of the sum, of members * rows. 0 < rows <= problem.m.
  virtual Status run(Stream stream, const Members& members, void* c, const void* a, const void* b,
                     int rows) = 0;
  virtual std::string describe() const = 0;
};

// As rows of WEFT_GEMM_SCATTER make them (backends.def.hpp), on GPUs with a tile of gemm::kTiles
// that scatters, or the plan's (-1). problem.m: rows of each member.
using MakeOverlapped = Result<std::unique_ptr<OverlappedTarget>>(const GemmProblem& problem,
                                                                 int members,
                                                                 const DeviceModel& device,
                                                                 int tile);
#define WEFT_GEMM_SCATTER(name, architectures, dtypes) MakeOverlapped make_overlapped_##name;
#include "kernels/gemm/backends.def.hpp"

// The SMs and clusters of the current GPU that may take part; no SMs: it has no kernels that can.
Result<DeviceModel> overlapped_device_model(const GemmOptions& options);

}  // namespace weft::kernels::gemm_rs
