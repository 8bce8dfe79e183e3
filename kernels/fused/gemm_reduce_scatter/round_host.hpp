// Rounds of a GEMM and a sum on host threads.
#pragma once

#include <algorithm>
#include <thread>

#include <weft/device.hpp>
#include <weft/stream.hpp>

#include "kernels/fused/gemm_reduce_scatter/space.hpp"

namespace weft::kernels::gemm_rs {

inline unsigned host_blocks() { return std::clamp(std::thread::hardware_concurrency(), 2u, 4u); }

// Only one thread may do it, when all blocks have ended.
struct EndRound {
  Record* record;
  void operator()() const { ++record->round; }
};

template <class Kernel>
Status launch_round(Stream stream, unsigned blocks, const Kernel& kernel, Record* record) {
  Status status = dev::launch({blocks, 1, 0}, kernel, stream);
  if (status) status = dev::launch({1, 1, 0}, EndRound{record}, stream);
  return status;
}

}  // namespace weft::kernels::gemm_rs
