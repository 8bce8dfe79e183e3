// How a call that folds nothing starts the kernel by LL that fits its messages and its team.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/start.hpp"
#include "kernels/collectives/units.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// How members' messages lie is nothing to the others. Kernel: of Units and the others that are
// under way at once.
template <template <class Units, int kOthers> class Kernel, class... Args>
Status start_ll(const CollectiveCall& call, Stream stream, const Args&... args) {
  const std::size_t shared = shared_bytes_of_ll(call);
  if (!WholeUnits::are_in(call.messages))
    return start(call, Kernel<AnyUnits, 3>{ll_call(call), args...}, stream, shared);
  if (call.team.size <= 4)
    return start(call, Kernel<WholeUnits, 3>{ll_call(call), args...}, stream, shared);
  return start(call, Kernel<WholeUnits, 7>{ll_call(call), args...}, stream, shared);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
