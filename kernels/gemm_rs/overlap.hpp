// Overlap: the product and the sum over the members at once, as a target does it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <weft/device/handle.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/gemm/plan.hpp"
#include "kernels/gemm_rs/space.hpp"

namespace weft::kernels::gemm_rs {

// What an overlap needs of the workspace, for its largest call: tiles of a member's rows, and of
// each its bytes and its flags.
struct Needs {
  std::uint64_t tiles = 0, tile_bytes = 0, tile_flags = 0;
};

class Overlap {
 public:
  virtual ~Overlap() = default;
  virtual Needs needs() const = 0;
  // Before the first run(). Collective.
  virtual Status use(Runtime& runtime, const Team& team, const Space& space) = 0;
  // c[rows, n]: my rows of the sum, of members * rows. 0 < rows <= problem.m.
  virtual Status run(Stream stream, void* c, const void* a, const void* b, int rows) = 0;
  virtual std::string describe() const = 0;
};

// problem.m: rows of each member.
Result<std::unique_ptr<Overlap>> make_host_overlap(const GemmProblem& problem, int members);
// On the current GPU, with a tile of gemm::kTiles that scatters, or the plan's (-1).
Result<std::unique_ptr<Overlap>> make_gpu_overlap(const GemmProblem& problem, int members,
                                                  const gemm::Machine& machine, int tile);
// What of the current GPU may take part; no multiprocessors: none has kernels that can.
Result<gemm::Machine> gpu_machine(const GemmOptions& options);

}  // namespace weft::kernels::gemm_rs
