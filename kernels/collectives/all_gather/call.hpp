// The calls of AllGather and AllToAll, which differ in the strides of their messages alone.
#pragma once

#include "kernels/collectives/call.hpp"

namespace weft::kernels {

WEFT_OF_EACH_TARGET(RunCall<CollectiveCall> run_all_gather)

}  // namespace weft::kernels
