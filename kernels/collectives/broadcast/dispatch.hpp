// Broadcast: which kernel a call is.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/broadcast/lamport.hpp"
#include "kernels/collectives/broadcast/ll.hpp"
#include "kernels/collectives/broadcast/simple.hpp"
#include "kernels/collectives/broadcast/zero_copy.hpp"
#include "kernels/collectives/start_lamport.hpp"
#include "kernels/collectives/start_ll.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// One other at a time, whoever there is.
template <class Pairs, int, bool kPasses>
using BroadcastOf = BroadcastLamport<Pairs, kPasses>;

inline Status broadcast(const Call& call, Stream stream) {
  if (call.plan.algorithm == Algorithm::kLL) return start_ll<BroadcastLL>(call, stream, call.root);
  if (call.plan.algorithm == Algorithm::kLamport) return start_lamport<BroadcastOf>(call, stream);
  if (call.plan.algorithm == Algorithm::kScatteredSimple)
    return start(call, ScatteredBroadcastSimple{simple_call(call), call.root}, stream);
  if (call.plan.algorithm == Algorithm::kZeroCopy)
    return start_zero_copy(
        call, BroadcastZeroCopy{zero_copy_call(call), call.plan.piece, call.root}, stream);
  return start(call, BroadcastSimple{simple_call(call), call.root}, stream);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
