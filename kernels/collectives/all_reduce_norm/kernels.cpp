// AllReduceNorm's kernels, compiled for each target: which one a call is.
#include <weft/device.hpp>

#include "kernels/collectives/all_reduce_norm/lamport.hpp"
#include "kernels/collectives/all_reduce_norm/ll_simple.hpp"
#include "kernels/collectives/start.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {
namespace {

template <class T, int kUnits>
Status norm_ll(const Call& call, Stream stream) {
  using OneShot = FoldLL<T, kUnits>;
  using TwoShot = TwoShotLL<T, kUnits>;
  const NormCall& n = call.norm;
  const std::size_t shared =
      shared_bytes_of_ll(call) + kRowSumsBytes + shared_part_bytes(n.row_bytes, n.split);
  if (call.plan.algorithm == Algorithm::kLL)
    return start(call, NormLL<T, OneShot, kUnits>{{ll_call(call), call.op}, n}, stream, shared);
  return start(call, NormLL<T, TwoShot, kUnits>{{ll_call(call), call.op}, n}, stream, shared);
}
template <class T, class Pairs, int kOthers, bool kTwoShot, bool kOnePair>
Status norm_lamport_as(const Call& call, Stream stream) {
  using Kernel = NormLamport<T, Pairs, kOthers, kTwoShot, kOnePair>;
  const NormCall& n = call.norm;
  return start(call, Kernel{kernel_call(call), n}, stream,
               Kernel::shared_bytes(call.team.size, n.row_bytes), n.split);
}
template <class T, bool kTwoShot>
Status norm_lamport(const Call& call, Stream stream) {
  const NormCall& n = call.norm;
  const Messages& m = call.messages;
  const bool are_whole = WholePairs::are_in(m) && n.row_bytes % sizeof(Vector) == 0 &&
                         is_aligned(m.addend) && is_aligned(n.out) && is_aligned(n.weight);
  if (!are_whole) return norm_lamport_as<T, AnyPairs, 3, kTwoShot, false>(call, stream);
  if (lanes_of_part(n.row_bytes, n.split, kTwoShot ? call.team.size : 1) > call.plan.threads)
    return norm_lamport_as<T, WholePairs, 3, kTwoShot, false>(call, stream);
  return call.team.size > 4 ? norm_lamport_as<T, WholePairs, 7, kTwoShot, true>(call, stream)
                            : norm_lamport_as<T, WholePairs, 3, kTwoShot, true>(call, stream);
}

template <class T>
Status norm(const Call& call, Stream stream) {
  const NormCall& n = call.norm;
  if (call.plan.algorithm == Algorithm::kLamport) return norm_lamport<T, false>(call, stream);
  if (call.plan.algorithm == Algorithm::kTwoShotLamport) return norm_lamport<T, true>(call, stream);
  if (call.plan.algorithm == Algorithm::kSimple)
    return start(call, NormSimple<T>{{simple_call(call), call.op}, n}, stream, kRowSumsBytes);
  return units_of_part(n.row_bytes, n.split) <= call.plan.threads
             ? norm_ll<T, 1>(call, stream)
             : norm_ll<T, kUnitsTogether>(call, stream);
}

}  // namespace

Status run_norm(const Call& call, Stream stream) {
  switch (call.dtype) {
    case DType::kFloat32: return norm<float>(call, stream);
    case DType::kFloat16: return norm<Half>(call, stream);
    case DType::kBfloat16: return norm<Bfloat16>(call, stream);
    default: return Status::error(Code::kInternal, "an AllReduceNorm of a type without kernels");
  }
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
