// What the kernels beside the product are given. Plain data.
#pragma once

#include <cstddef>

#include <weft/device/handle.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/core/gathering.hpp"

namespace weft::kernels {

inline constexpr unsigned kPushThreads = 128;  // of a block: four lanes (push.hpp)
inline constexpr unsigned kCopyThreads = 256;

// My rows, for everybody. `goes_round`: I put mine to the rank before me, and what comes from the
// one after me; else mine to all. The same in all calls: who passes rows on may be a round behind
// their owner, who must not set the same flag.
struct PushCall {
  DeviceContext handle;
  Team team;
  Gathering gathering;
  const std::byte* rows = nullptr;
  std::size_t row_bytes = 0, row_stride = 0;
  bool goes_round = false;
  int band = 1;  // pieces, one below the other, whose parts go by turns
};

// The rows of every segment, one close behind the other: mine from `own`, others out of the
// gathering whose round is over.
struct CopyCall {
  Gathering gathering;
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
