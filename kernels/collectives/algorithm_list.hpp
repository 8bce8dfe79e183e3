// AlgorithmList: the registry of a collective. A row is the type of an algorithm, which lies in the
// file of its kernel: kTraits, by which it is named and planned, and run(call, stream), which
// starts the kernel.
#pragma once

#include <type_traits>

#include <weft/device.hpp>
#include <weft/small_float.hpp>

#include "kernels/collectives/algorithm.hpp"
#include "kernels/collectives/call.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

template <class... Algorithms>
struct AlgorithmList {
  static constexpr AlgorithmTraits kTraits[] = {Algorithms::kTraits...};
  static AlgorithmSpan traits() { return {kTraits, sizeof...(Algorithms)}; }

  template <class Call>
  static Status run(const Call& call, Stream stream) {
    Status status = Status::error(Code::kInternal, "a plan by an algorithm without kernels");
    const auto run_if_it_is = [&](auto algorithm) {
      if (algorithm.kTraits.name != call.plan.algorithm) return false;
      status = algorithm.run(call, stream);
      return true;
    };
    static_cast<void>((run_if_it_is(Algorithms{}) || ...));
    return status;
  }
};

// f(T{}), of the type of the call's elements. check_problem() has refused types that are not summed
// up.
template <class F>
Status with_float_type(DType dtype, F f) {
  switch (dtype) {
    case DType::kFloat32: return f(float{});
    case DType::kFloat16: return f(Half{});
    case DType::kBfloat16: return f(Bfloat16{});
    default: return Status::error(Code::kInternal, "a collective of a type without kernels");
  }
}
template <class F>
Status with_type(DType dtype, F f) {
  if (dtype == DType::kInt32) return f(std::int32_t{});
  if (dtype == DType::kUint8) return f(std::uint8_t{});
  return with_float_type(dtype, f);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
