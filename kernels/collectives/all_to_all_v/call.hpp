#pragma once

#include <weft/kernels/collectives.hpp>

#include "kernels/collectives/call.hpp"

namespace weft::kernels {

struct AllToAllVCall : CollectiveCall {
  AllToAllVSizes sizes;
};
WEFT_OF_EACH_TARGET(RunCall<AllToAllVCall> run_all_to_all_v)

}  // namespace weft::kernels
