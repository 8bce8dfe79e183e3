// The algorithms of AllGather and AllToAll.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/all_gather/lamport.hpp"
#include "kernels/collectives/all_gather/ll.hpp"
#include "kernels/collectives/all_gather/simple.hpp"
#include "kernels/collectives/all_gather/zero_copy.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

using AllGatherAlgorithms = AlgorithmList<MoveByLL, MoveBySimple, MoveByLamport, MoveByZeroCopy>;

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
