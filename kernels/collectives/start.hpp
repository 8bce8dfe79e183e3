// How a target's sources start their kernels.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/algorithm_list.hpp"
#include "kernels/collectives/call.hpp"
#include "kernels/collectives/ll_call.hpp"
#include "kernels/collectives/simple_call.hpp"
#include "kernels/collectives/zero_copy_call.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// `cluster`: the number of blocks in a cluster.
template <class Kernel>
Status start(const CollectiveCall& call, const Kernel& kernel, Stream stream,
             std::size_t shared = 0, unsigned cluster = 1) {
  return dev::launch({call.plan.blocks, call.plan.threads, shared, cluster,
                      Kernel::kStartsEarly && call.starts_early},
                     kernel, stream);
}

inline KernelCall kernel_call(const CollectiveCall& call) {
  return {call.handle, call.team, call.space, call.messages};
}
inline LLCall ll_call(const CollectiveCall& call) { return {kernel_call(call)}; }
inline std::size_t shared_bytes_of_ll(const CollectiveCall& call) {
  return LLChannel::shared_bytes(call.team.size);
}
inline SimpleCall simple_call(const CollectiveCall& call) {
  return {kernel_call(call), call.plan.piece};
}
inline ZeroCopyCall zero_copy_call(const CollectiveCall& call) { return {kernel_call(call)}; }

template <class Kernel>
Status start_zero_copy(const CollectiveCall& call, const Kernel& kernel, Stream stream) {
  return start(call, kernel, stream, ZeroCopyCall::shared_bytes(call.team.size));
}
// Kernel<T> of the type of the call's elements.
template <template <class> class Kernel>
struct ReduceByZeroCopy {
  template <class Call>
  static Status run(const Call& call, Stream stream) {
    return with_type(call.dtype, [&](auto zero) {
      return start_zero_copy(call, Kernel<decltype(zero)>{zero_copy_call(call), call.op}, stream);
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
