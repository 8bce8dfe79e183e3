// Call: one call of a collective, as the host hands it to the kernels of a target. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/handle.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/kernels/plan.hpp>
#include <weft/kernels/types.hpp>
#include <weft/reduce_op.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/collectives/limits.hpp"
#include "kernels/core/math.hpp"
#include "kernels/protocol/workspace.hpp"

namespace weft::kernels {

// Where the messages of a call lie: what goes to rank d begins at in + d * in_stride, what comes
// from rank s at out + s * out_stride. Both of `bytes`.
struct Messages {
  std::byte* out = nullptr;
  const std::byte* in = nullptr;
  std::size_t in_stride = 0, out_stride = 0;
  std::size_t bytes = 0;
  // Null, or what every fold ends with: laid out as out, which it may be.
  const std::byte* addend = nullptr;
  // For kernels by LL: null, or where the units of out go, too.
  std::uint64_t* copy = nullptr;
};

// AllReduceNorm: messages are rows, and each row that is there is normed. By LL and by Lamport
// `split` blocks share a row.
struct NormCall {
  std::byte* out = nullptr;
  const std::byte* weight = nullptr;
  std::size_t hidden = 0, row_bytes = 0;
  unsigned split = 1;
  float epsilon = 0;
};
inline constexpr unsigned kUnitsOfChunk = 64;  // of a row: what is squared and added up together
inline constexpr unsigned kMostChunks = 256;   // of a row that blocks share
WEFT_HOST_DEVICE constexpr unsigned chunks_of_row(std::size_t row_bytes) {
  return static_cast<unsigned>(ceil_div(ceil_div(row_bytes, 8), kUnitsOfChunk));
}
// Units that each block of a row has: whole chunks.
WEFT_HOST_DEVICE constexpr std::size_t units_of_part(std::size_t row_bytes, unsigned split) {
  return ceil_div(chunks_of_row(row_bytes), split) * kUnitsOfChunk;
}

struct Call {
  DeviceContext handle;
  Team team;
  Workspace space;
  Messages messages;
  Plan plan;
  Collective what = Collective::kAllReduce;
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;               // Broadcast only
  AllToAllVSizes sizes;       // AllToAllV only
  NormCall norm;              // AllReduceNorm only
  bool starts_early = false;  // kernels that can: the GPU has programmatic dependent launch
};

// One per target, from one source: kernels.cpp, and norm.cpp for AllReduceNorm. Nothing starts
// those for HIP yet; they are compiled.
using RunCall = Status(const Call& call, Stream stream);
namespace cpu {
RunCall run_call, run_norm;
}
namespace cuda {
RunCall run_call, run_norm;
}
namespace hip {
RunCall run_call, run_norm;
}

}  // namespace weft::kernels
