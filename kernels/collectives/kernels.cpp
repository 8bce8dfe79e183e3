// The collectives' kernels, compiled for each target, and the registries that start them.
#include <weft/device.hpp>

#include "kernels/collectives/all_gather/algorithms.hpp"
#include "kernels/collectives/all_gather/call.hpp"
#include "kernels/collectives/all_reduce/algorithms.hpp"
#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/collectives/all_to_all_v/algorithms.hpp"
#include "kernels/collectives/broadcast/algorithms.hpp"
#include "kernels/collectives/reduce_scatter/algorithms.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

Status run_all_reduce(const ReduceCall& call, Stream stream) {
  return AllReduceAlgorithms::run(call, stream);
}
Status run_reduce_scatter(const ReduceCall& call, Stream stream) {
  return ReduceScatterAlgorithms::run(call, stream);
}
Status run_all_gather(const CollectiveCall& call, Stream stream) {
  return AllGatherAlgorithms::run(call, stream);
}
Status run_broadcast(const BroadcastCall& call, Stream stream) {
  return BroadcastAlgorithms::run(call, stream);
}
Status run_all_to_all_v(const AllToAllVCall& call, Stream stream) {
  return AllToAllVAlgorithms::run(call, stream);
}

AlgorithmSpan algorithms_of(Collective what) {
  switch (what) {
    case Collective::kAllReduce: return AllReduceAlgorithms::traits();
    case Collective::kReduceScatter: return ReduceScatterAlgorithms::traits();
    case Collective::kAllGather:
    case Collective::kAllToAll: return AllGatherAlgorithms::traits();
    case Collective::kAllToAllV: return AllToAllVAlgorithms::traits();
    case Collective::kBroadcast: return BroadcastAlgorithms::traits();
    case Collective::kAllReduceNorm: return norm_algorithms();
  }
  return {nullptr, 0};
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
