// The algorithms of Broadcast.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/broadcast/lamport.hpp"
#include "kernels/collectives/broadcast/ll.hpp"
#include "kernels/collectives/broadcast/simple.hpp"
#include "kernels/collectives/broadcast/zero_copy.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

using BroadcastAlgorithms =
    AlgorithmList<BroadcastByLL, BroadcastBySimple, ScatteredBroadcastBySimple, BroadcastByLamport,
                  BroadcastByZeroCopy>;

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
