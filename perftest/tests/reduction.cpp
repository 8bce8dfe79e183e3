// reduce, reducescatter and scans: host API.
#include "perftest/tests/reduction_data.hpp"

namespace weft::perf {
namespace {

template <Reduction kKind>
class HostReduction : public ReductionData {
 public:
  HostReduction(Job& job, const Point& point) : ReductionData(job, point, kKind) {}

  Result<Ns> run(Count iters) override {
    return with_element(point_.type->element, [&](auto zero) {
      return time_loop(iters, [&](Count) { return call(zero); });
    });
  }

 private:
  template <class T>
  Status call(T) {
    Context& ctx = job_.ctx();
    const Team& team = job_.runtime().world();
    auto* const dst = reinterpret_cast<T*>(dst_);
    const auto* const src = reinterpret_cast<const T*>(src_);
    switch (kKind) {
      case Reduction::kReduce: return reduce(ctx, team, dst, src, count_, point_.op);
      case Reduction::kReducescatter: return reducescatter(ctx, team, dst, src, count_, point_.op);
      case Reduction::kInclusive: return scan_inclusive(ctx, team, dst, src, count_, point_.op);
      case Reduction::kExclusive: break;
    }
    return scan_exclusive(ctx, team, dst, src, count_, point_.op);
  }
};

template <Reduction kKind>
Row row(std::string_view name, std::string_view what) {
  return {.name = name,
          .what = what,
          .formula = "time = batch / calls, of the slowest PE; GB/s = size / p50",
          .floor = kReductionBaseline,
          .min_pes = 1,
          .uses = kUsesSize | kUsesType | kUsesOp,
          .max = 1u << 20,
          .type = "int64",
          .make = make<HostReduction<kKind>>};
}

}  // namespace

std::vector<Row> reduction_rows() {
  return {
      row<Reduction::kReduce>("reduce",
                              "all PEs' vectors combined (-o, -d), the result on every PE"),
      row<Reduction::kReducescatter>("reducescatter",
                                     "all PEs' vectors combined, each PE gets its block"),
      row<Reduction::kInclusive>("scan_inclusive", "the vectors of PEs 0..mine combined"),
      row<Reduction::kExclusive>("scan_exclusive", "the vectors of PEs 0..mine-1 combined"),
  };
}

}  // namespace weft::perf
