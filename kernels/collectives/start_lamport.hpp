// How a call starts the kernel by Lamport that fits its messages and its team.
#pragma once

#include <weft/device.hpp>

#include "kernels/collectives/lamport_call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/protocol/lamport_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// Each combination is a kernel of its own, since one that asks of each pair waits for each, and one
// that waits for few others at once has registers for twice as many threads. How members' messages
// lie is nothing to the others.
template <class Kernel, class... Args>
Status start_lamport_as(const CollectiveCall& call, Stream stream, const Args&... args) {
  Kernel kernel{};
  static_cast<KernelCall&>(kernel) = kernel_call(call);
  kernel.piece = call.plan.piece;
  if constexpr (sizeof...(args) != 0) kernel.set(args...);
  return start(call, kernel, stream, LamportChannel::shared_bytes(call.team.size));
}
template <template <class Pairs, int kOthers, bool kPasses> class Kernel, bool kPasses,
          class... Args>
Status start_lamport(const CollectiveCall& call, Stream stream, const Args&... args) {
  if (!WholePairs::are_in(call.messages))
    return start_lamport_as<Kernel<AnyPairs, 7, kPasses>>(call, stream, args...);
  if (call.team.size > 4)
    return start_lamport_as<Kernel<WholePairs, 7, kPasses>>(call, stream, args...);
  return call.team.size > 2
             ? start_lamport_as<Kernel<WholePairs, 3, kPasses>>(call, stream, args...)
             : start_lamport_as<Kernel<WholePairs, 1, kPasses>>(call, stream, args...);
}
// `args`: what else the kernel is told, by its set().
template <template <class Pairs, int kOthers, bool kPasses> class Kernel, class... Args>
Status start_lamport(const CollectiveCall& call, Stream stream, const Args&... args) {
  return call.plan.piece != 0 ? start_lamport<Kernel, true>(call, stream, args...)
                              : start_lamport<Kernel, false>(call, stream, args...);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
