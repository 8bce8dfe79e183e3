// AllGather and AllToAll: which kernel a call is.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/all_gather/lamport.hpp"
#include "kernels/collectives/all_gather/ll.hpp"
#include "kernels/collectives/all_gather/simple.hpp"
#include "kernels/collectives/all_gather/zero_copy.hpp"
#include "kernels/collectives/start_lamport.hpp"
#include "kernels/collectives/start_ll.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

inline Status all_gather(const Call& call, Stream stream) {
  if (call.plan.algorithm == Algorithm::kLL) return start_ll<MoveLL>(call, stream);
  if (call.plan.algorithm == Algorithm::kLamport) return start_lamport<MoveLamport>(call, stream);
  if (call.plan.algorithm == Algorithm::kZeroCopy)
    return start_zero_copy(call, MoveZeroCopy{zero_copy_call(call)}, stream);
  return start(call, MoveSimple{simple_call(call)}, stream);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
