// How a target's sources start their kernels.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/bulk_kernels.hpp"
#include "kernels/collectives/call.hpp"
#include "kernels/collectives/packet_kernels.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// `cluster`: the number of blocks in a cluster.
template <class Kernel>
Status start(const Call& call, const Kernel& kernel, Stream stream, std::size_t shared = 0,
             unsigned cluster = 1) {
  return dev::launch({call.plan.blocks, call.plan.threads, shared, cluster,
                      Kernel::kStartsEarly && call.starts_early},
                     kernel, stream);
}

inline KernelCall kernel_call(const Call& call) {
  return {call.handle, call.team, call.space, call.messages};
}
inline PacketCall packets(const Call& call) { return {kernel_call(call)}; }
inline std::size_t shared_of_packets(const Call& call) {
  return PacketChannel::shared_bytes(call.team.size);
}
inline BulkCall bulk(const Call& call) { return {kernel_call(call), call.plan.piece}; }

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
