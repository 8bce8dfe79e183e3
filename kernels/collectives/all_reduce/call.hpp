// The calls of AllReduce and ReduceScatter.
#pragma once

#include <weft/reduce_op.hpp>

#include "kernels/collectives/call.hpp"

namespace weft::kernels {

struct ReduceCall : CollectiveCall {
  ReduceOp op = ReduceOp::kSum;
};
WEFT_OF_EACH_TARGET(RunCall<ReduceCall> run_all_reduce, run_reduce_scatter)

}  // namespace weft::kernels
