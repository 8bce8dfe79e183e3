// The calls of the kernels beside the GEMM. Plain data.
#pragma once

#include <cstddef>

#include <weft/device/handle.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/protocol/all_gather_buffer.hpp"

namespace weft::kernels {

inline constexpr unsigned kPushThreads = 128;  // of a block: four warps (push.hpp)
inline constexpr unsigned kCopyThreads = 256;

// My rows, for everybody. `is_ring`: I put mine to the rank before me, and what comes from the
// one after me; else mine to all. The same in all calls: who passes rows on may be a round behind
// their owner, who must not set the same flag.
struct PushCall {
  DeviceContext handle;
  Team team;
  AllGatherBuffer gather_buffer;
  const std::byte* rows = nullptr;
  std::size_t row_bytes = 0, row_stride = 0;
  bool is_ring = false;
  int group_rows = 1;  // pieces, one below the other, whose parts alternate
};

// The rows of every segment, one close behind the other: mine from `own`, the others' out of the
// all-gather buffer whose round is over.
struct CopyCall {
  AllGatherBuffer gather_buffer;
  const std::byte* own = nullptr;
  std::byte* to = nullptr;
  std::size_t row_bytes = 0, own_stride = 0;
};

// One per target, from one source (kernels.cpp).
using RunCopy = Status(const CopyCall& call, unsigned blocks, Stream stream);
namespace cpu {
RunCopy run_copy;
}  // namespace cpu
namespace cuda {
RunCopy run_copy;
}  // namespace cuda

}  // namespace weft::kernels
