// AllToAllV: which kernel a call is.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/all_to_all_v/ll.hpp"
#include "kernels/collectives/all_to_all_v/simple.hpp"
#include "kernels/collectives/start.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

inline Status all_to_all_v(const Call& call, Stream stream) {
  const AllToAllVSimple kernel{simple_call(call), call.sizes, kernels::bytes_of(call.dtype)};
  const std::size_t shared = AllToAllVSimple::shared_bytes(call.team.size);
  if (call.plan.algorithm == Algorithm::kLL)
    return start(call, AllToAllVLL{kernel}, stream, shared);
  if (call.plan.algorithm == Algorithm::kZeroCopy)
    return start(call, AllToAllVZeroCopy{kernel}, stream, shared);
  return start(call, kernel, stream, shared);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
