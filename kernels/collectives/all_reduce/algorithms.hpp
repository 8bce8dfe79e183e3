// The algorithms of AllReduce. One that is added has a file in this folder, and a row here
// (CONTRIBUTING.md).
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/all_reduce/lamport.hpp"
#include "kernels/collectives/all_reduce/ll.hpp"
#include "kernels/collectives/all_reduce/simple.hpp"
#include "kernels/collectives/all_reduce/zero_copy.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

using AllReduceAlgorithms = AlgorithmList<  //
    FoldByLL,                               //
    TwoShotByLL,                            //
    AllReduceBySimple,                      //
    FoldByLamport,                          //
    TwoShotByLamport,                       //
    AllReduceByZeroCopy>;

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
