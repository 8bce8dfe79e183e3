// AllReduce and ReduceScatter: which kernel a call is.
#pragma once

#include <type_traits>

#include <weft/device.hpp>

#include "kernels/collectives/all_reduce/lamport.hpp"
#include "kernels/collectives/all_reduce/ll.hpp"
#include "kernels/collectives/all_reduce/simple.hpp"
#include "kernels/collectives/all_reduce/zero_copy.hpp"
#include "kernels/collectives/reduce_scatter/simple.hpp"
#include "kernels/collectives/reduce_scatter/zero_copy.hpp"
#include "kernels/collectives/start_lamport.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

template <class T>
struct Sums {
  template <class Pairs, int kOthers, bool kPasses>
  using OneShot = FoldLamport<T, Pairs, kOthers, kPasses>;
  template <class Pairs, int kOthers, bool kPasses>
  using TwoShot = TwoShotLamport<T, Pairs, kOthers, kPasses>;
};

// Integers have no Lamport: check_problem() has refused it.
template <class T>
Status reduce(const Call& call, Stream stream) {
  switch (call.plan.algorithm) {
    case Algorithm::kLL:
      return start(call, FoldLL<T>{ll_call(call), call.op}, stream, shared_bytes_of_ll(call));
    case Algorithm::kTwoShotLL:
      return start(call, TwoShotLL<T>{ll_call(call), call.op}, stream, shared_bytes_of_ll(call));
    case Algorithm::kLamport:
      if constexpr (!std::is_integral_v<T>)
        return start_lamport<Sums<T>::template OneShot>(call, stream);
      break;
    case Algorithm::kTwoShotLamport:
      if constexpr (!std::is_integral_v<T>)
        return start_lamport<Sums<T>::template TwoShot>(call, stream);
      break;
    case Algorithm::kZeroCopy:
      if (call.what == Collective::kAllReduce)
        return start_zero_copy(call, AllReduceZeroCopy<T>{zero_copy_call(call), call.op}, stream);
      return start_zero_copy(call, ReduceScatterZeroCopy<T>{zero_copy_call(call), call.op}, stream);
    default: break;
  }
  if (call.what == Collective::kAllReduce)
    return start(call, AllReduceSimple<T>{simple_call(call), call.op}, stream);
  return start(call, ReduceScatterSimple<T>{simple_call(call), call.op}, stream);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
