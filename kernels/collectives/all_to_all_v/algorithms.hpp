// The algorithms of AllToAllV.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/all_to_all_v/ll.hpp"
#include "kernels/collectives/all_to_all_v/simple.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

using AllToAllVAlgorithms = AlgorithmList<AllToAllVByLL, AllToAllVBySimple, AllToAllVByZeroCopy>;

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
