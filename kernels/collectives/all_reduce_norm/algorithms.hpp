// The algorithms of AllReduceNorm.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/all_reduce_norm/lamport.hpp"
#include "kernels/collectives/all_reduce_norm/ll_simple.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

using NormAlgorithms =
    AlgorithmList<NormByLL, NormByTwoShotLL, NormBySimple, NormByLamport, NormByTwoShotLamport>;

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
