// The collectives' kernels, compiled for each target: which one a call is.
#include <type_traits>

#include <weft/device.hpp>

#include "kernels/collectives/all_to_all_v_kernel.hpp"
#include "kernels/collectives/all_to_all_v_packet_kernel.hpp"
#include "kernels/collectives/bulk_kernels.hpp"
#include "kernels/collectives/call.hpp"
#include "kernels/collectives/move_packet_kernels.hpp"
#include "kernels/collectives/move_word_kernels.hpp"
#include "kernels/collectives/packet_kernels.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/collectives/sum_word_kernels.hpp"
#include "kernels/collectives/symmetric_kernels.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {
namespace {

SymmetricCall symmetric(const Call& call) { return {kernel_call(call)}; }
template <class Kernel>
Status start_symmetric(const Call& call, const Kernel& kernel, Stream stream) {
  return start(call, kernel, stream, SymmetricCall::shared_bytes(call.team.size));
}

template <class Units, int kOthers>
Status move_packets(const Call& call, Stream stream) {
  const std::size_t shared = shared_of_packets(call);
  if (call.what == Collective::kBroadcast)
    return start(call, BroadcastPackets<Units, kOthers>{packets(call), call.root}, stream, shared);
  return start(call, MovePackets<Units, kOthers>{packets(call)}, stream, shared);
}
// How members' messages lie is nothing to the others.
Status move_packets(const Call& call, Stream stream) {
  if (!WholeUnits::are_in(call.messages)) return move_packets<AnyUnits, 3>(call, stream);
  return call.team.size <= 4 ? move_packets<WholeUnits, 3>(call, stream)
                             : move_packets<WholeUnits, 7>(call, stream);
}

// Words: each combination is a kernel of its own, since one that asks of each pair waits for each,
// and one that waits for few others at once has registers for twice as many threads. How members'
// messages lie is nothing to the others.
template <class Kernel>
Status start_words_as(const Call& call, Stream stream) {
  Kernel kernel{};
  static_cast<KernelCall&>(kernel) = kernel_call(call);
  kernel.piece = call.plan.piece;
  kernel.root = call.root;
  return start(call, kernel, stream, WordChannel::shared_bytes(call.team.size));
}
template <template <class Pairs, int kOthers, bool kLaps> class Kernel, bool kLaps>
Status start_words(const Call& call, Stream stream) {
  if (!WholePairs::are_in(call.messages))
    return start_words_as<Kernel<AnyPairs, 7, kLaps>>(call, stream);
  if (call.team.size > 4) return start_words_as<Kernel<WholePairs, 7, kLaps>>(call, stream);
  return call.team.size > 2 ? start_words_as<Kernel<WholePairs, 3, kLaps>>(call, stream)
                            : start_words_as<Kernel<WholePairs, 1, kLaps>>(call, stream);
}
template <template <class Pairs, int kOthers, bool kLaps> class Kernel>
Status start_words(const Call& call, Stream stream) {
  return call.plan.piece != 0 ? start_words<Kernel, true>(call, stream)
                              : start_words<Kernel, false>(call, stream);
}
// One other at a time, whoever there is.
template <class Pairs, int, bool kLaps>
using BroadcastOf = BroadcastWords<Pairs, kLaps>;
template <class T>
struct Sums {
  template <class Pairs, int kOthers, bool kLaps>
  using OneShot = FoldWords<T, Pairs, kOthers, kLaps>;
  template <class Pairs, int kOthers, bool kLaps>
  using TwoShot = TwoShotWords<T, Pairs, kOthers, kLaps>;
};

Status move(const Call& call, Stream stream) {
  if (call.plan.algorithm == Algorithm::kPackets) return move_packets(call, stream);
  if (call.plan.algorithm == Algorithm::kWords) return start_words<MoveWords>(call, stream);
  if (call.plan.algorithm == Algorithm::kSymmetric)
    return start_symmetric(call, MoveSymmetric{symmetric(call)}, stream);
  return start(call, MoveBulk{bulk(call)}, stream);
}

Status broadcast(const Call& call, Stream stream) {
  if (call.plan.algorithm == Algorithm::kPackets) return move_packets(call, stream);
  if (call.plan.algorithm == Algorithm::kWords) return start_words<BroadcastOf>(call, stream);
  if (call.plan.algorithm == Algorithm::kScatteredBulk)
    return start(call, ScatteredBroadcastBulk{bulk(call), call.root}, stream);
  if (call.plan.algorithm == Algorithm::kSymmetric)
    return start_symmetric(call, BroadcastSymmetric{symmetric(call), call.plan.piece, call.root},
                           stream);
  return start(call, BroadcastBulk{bulk(call), call.root}, stream);
}

Status move_by_counts(const Call& call, Stream stream) {
  const AllToAllVBulk kernel{bulk(call), call.sizes, kernels::bytes_of(call.dtype)};
  const std::size_t shared = AllToAllVBulk::shared_bytes(call.team.size);
  if (call.plan.algorithm == Algorithm::kPackets)
    return start(call, AllToAllVPackets{kernel}, stream, shared);
  if (call.plan.algorithm == Algorithm::kSymmetric)
    return start(call, AllToAllVSymmetric{kernel}, stream, shared);
  return start(call, kernel, stream, shared);
}

template <class T>
Status reduce(const Call& call, Stream stream) {
  switch (call.plan.algorithm) {
    case Algorithm::kPackets:
      return start(call, FoldPackets<T>{packets(call), call.op}, stream, shared_of_packets(call));
    case Algorithm::kTwoShotPackets:
      return start(call, TwoShotPackets<T>{packets(call), call.op}, stream,
                   shared_of_packets(call));
    case Algorithm::kWords:
      if constexpr (!std::is_integral_v<T>)
        return start_words<Sums<T>::template OneShot>(call, stream);
      break;
    case Algorithm::kTwoShotWords:
      if constexpr (!std::is_integral_v<T>)
        return start_words<Sums<T>::template TwoShot>(call, stream);
      break;
    case Algorithm::kSymmetric:
      if (call.what == Collective::kAllReduce)
        return start_symmetric(call, AllReduceSymmetric<T>{symmetric(call), call.op}, stream);
      return start_symmetric(call, ReduceScatterSymmetric<T>{symmetric(call), call.op}, stream);
    default: break;
  }
  if (call.what == Collective::kAllReduce)
    return start(call, AllReduceBulk<T>{bulk(call), call.op}, stream);
  return start(call, ReduceScatterBulk<T>{bulk(call), call.op}, stream);
}

}  // namespace

Status run_call(const Call& call, Stream stream) {
  switch (call.what) {
    case Collective::kAllGather:
    case Collective::kAllToAll: return move(call, stream);
    case Collective::kBroadcast: return broadcast(call, stream);
    case Collective::kAllToAllV: return move_by_counts(call, stream);
    case Collective::kAllReduceNorm: return run_norm(call, stream);
    default: break;
  }
  switch (call.dtype) {
    case DType::kFloat32: return reduce<float>(call, stream);
    case DType::kFloat16: return reduce<Half>(call, stream);
    case DType::kBfloat16: return reduce<Bfloat16>(call, stream);
    case DType::kInt32: return reduce<std::int32_t>(call, stream);
    case DType::kUint8: return reduce<std::uint8_t>(call, stream);
    case DType::kFloat8E4m3: break;  // check_problem() has refused it
  }
  return Status::error(Code::kInternal, "a collective of a type without kernels");
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
