// Reductions and scans inside kernels: one unit of every PE's kernel. Four source files stamp their
// kind from this one, since each is a kernel for every operator, type and scope.
#pragma once

#include "perftest/tests/kernel.hpp"
#include "perftest/tests/reduction_data.hpp"

namespace weft::perf {

template <Reduction kKind, ReduceOp kOp, class T>
struct ReductionBody {
  static constexpr bool kAlone = true;
  Team team;
  T* dst;
  const T* src;
  std::size_t count;

  template <class Scope>
  WEFT_DEVICE bool operator()(const dev::Context& ctx, Scope scope, Unit, Count) const {
    if constexpr (kKind == Reduction::kReduce) {
      return dev::reduce<kOp>(ctx, scope, team, dst, src, count);
    } else if constexpr (kKind == Reduction::kReducescatter) {
      return dev::reducescatter<kOp>(ctx, scope, team, dst, src, count);
    } else if constexpr (kKind == Reduction::kInclusive) {
      return dev::scan_inclusive<kOp>(ctx, scope, team, dst, src, count);
    } else {
      return dev::scan_exclusive<kOp>(ctx, scope, team, dst, src, count);
    }
  }
};

// Kernels are made for these two, since each type is seven operators by three scopes more.
inline bool has_kernel(const TypeInfo& type) {
  return type.element == Element::kInt64 || type.element == Element::kFloat;
}
template <class F>
auto with_kernel_type(Element element, F&& f) {
  return element == Element::kFloat ? f(float{}) : f(std::int64_t{});
}

// Calls f(integral_constant<ReduceOp>) with an operator that the type has.
template <class T, class F>
auto with_op(ReduceOp op, F&& f) {
  using enum ReduceOp;
  if constexpr (std::is_integral_v<T>) {
    if (op == kAnd) return f(std::integral_constant<ReduceOp, kAnd>{});
    if (op == kOr) return f(std::integral_constant<ReduceOp, kOr>{});
    if (op == kXor) return f(std::integral_constant<ReduceOp, kXor>{});
  }
  if (op == kProd) return f(std::integral_constant<ReduceOp, kProd>{});
  if (op == kMin) return f(std::integral_constant<ReduceOp, kMin>{});
  if (op == kMax) return f(std::integral_constant<ReduceOp, kMax>{});
  return f(std::integral_constant<ReduceOp, kSum>{});
}

template <Reduction kKind>
class DeviceReduction : public ReductionData {
 public:
  DeviceReduction(Job& job, const Point& point) : ReductionData(job, point, kKind) {}

  Result<Ns> run(Count iters) override {
    return with_kernel_type(point_.type->element, [&](auto zero) {
      using T = decltype(zero);
      return with_op<T>(point_.op, [&](auto op) {
        const ReductionBody<kKind, op(), T> body{job_.runtime().world(), reinterpret_cast<T*>(dst_),
                                                 reinterpret_cast<const T*>(src_), count_};
        return run_kernel(job_, point_.scope, body, iters);
      });
    });
  }
};

template <Reduction kKind>
Row device_reduction_row(std::string_view name, std::string_view what) {
  return {
      .name = name,
      .api = Api::kDevice,
      .what = what,
      .formula =
          "time = kernel time / calls, of the slowest PE; GB/s = size / p50; types: int64, float",
      .floor = kReductionBaseline,
      .min_pes = 1,
      .uses = kUsesSize | kUsesType | kUsesOp | kUsesScope,
      .max = 1u << 20,
      .type = "int64",
      .takes = has_kernel,
      .make = make<DeviceReduction<kKind>>};
}

}  // namespace weft::perf
