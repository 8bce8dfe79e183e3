// A part of the platforms of GPUs, whose compilers name the threads of a grid alike. They include
// this behind the header of their runtime.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/target.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {
namespace platform {

WEFT_DEVICE unsigned thread_rank() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
WEFT_DEVICE unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
WEFT_DEVICE unsigned block_rank() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
WEFT_DEVICE unsigned grid_size() { return gridDim.x * gridDim.y * gridDim.z; }

WEFT_DEVICE void sync_block() { __syncthreads(); }

template <class T>
WEFT_DEVICE T block_broadcast(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16, "at most 16 bytes");
  __shared__ std::uint64_t box[2];
  if (thread_rank() == 0) memcpy(box, &value, sizeof(T));
  __syncthreads();
  memcpy(&value, box, sizeof(T));
  __syncthreads();
  return value;
}

WEFT_DEVICE bool block_all(bool mine) { return __syncthreads_and(mine) != 0; }

}  // namespace platform
}  // namespace WEFT_TARGET
}  // namespace weft::dev
