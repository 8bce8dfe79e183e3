// What the kernels beside the product are given. Plain data.
#pragma once

#include <cstddef>

#include <weft/device/handle.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

#include "kernels/core/gathering.hpp"

namespace weft::kernels {

inline constexpr unsigned kPushThreads = 256;  // of a block, at most

// My rows, for everybody.
struct PushCall {
  DeviceContext handle;
  Team team;
  Gathering gathering;
  const std::byte* rows = nullptr;
  std::size_t row_bytes = 0, row_stride = 0, segment_stride = 0;  // bytes; the last of segments
};

// `rows` rows, some of which may lie elsewhere; of a gathering: out of its segments.
struct CopyCall {
  Gathering gathering;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t rows = 0, row_bytes = 0, to_stride = 0, from_stride = 0;
  const std::byte* own = nullptr;
  std::size_t own_first = 0, own_rows = 0, own_stride = 0;
};

// One of each per target, from one source (kernels.cpp).
using RunPush = Status(const PushCall& call, unsigned blocks, Stream stream);
using RunCopy = Status(const CopyCall& call, unsigned blocks, Stream stream);
namespace cpu {
RunPush run_push;
RunCopy run_copy;
}  // namespace cpu
namespace cuda {
RunPush run_push;
RunCopy run_copy;
}  // namespace cuda

}  // namespace weft::kernels
