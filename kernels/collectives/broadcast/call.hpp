#pragma once

#include "kernels/collectives/call.hpp"

namespace weft::kernels {

struct BroadcastCall : CollectiveCall {
  int root = 0;
};
WEFT_OF_EACH_TARGET(RunCall<BroadcastCall> run_broadcast)

}  // namespace weft::kernels
