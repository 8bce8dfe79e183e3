// The algorithms of ReduceScatter; two are AllReduce's, of messages that differ from rank to rank.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/all_reduce/lamport.hpp"
#include "kernels/collectives/all_reduce/ll.hpp"
#include "kernels/collectives/reduce_scatter/simple.hpp"
#include "kernels/collectives/reduce_scatter/zero_copy.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

using ReduceScatterAlgorithms =
    AlgorithmList<FoldByLL, ReduceScatterBySimple, FoldByLamport, ReduceScatterByZeroCopy>;

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
