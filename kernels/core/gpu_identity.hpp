// The GPU that a PE has, as other PEs have to know it.
#pragma once

#include <cstdint>

#include <weft/result.hpp>

namespace weft::kernels {

struct GpuIdentity {
  std::uint64_t number = 0;  // this GPU's alone, on all hosts
  int num_sms = 0;
  bool clusters = false;  // of blocks, which see one another's shared memory
};
Result<GpuIdentity> identity_of_current_gpu();

}  // namespace weft::kernels
