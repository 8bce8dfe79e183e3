// broadcast, fcollect, collect, alltoall, alltoalls: host API.
#include "perftest/elements.hpp"
#include "perftest/tests/collective_data.hpp"

namespace weft::perf {
namespace {

template <Collective kKind>
class HostCollective : public CollectiveData {
 public:
  HostCollective(Job& job, const Point& point) : CollectiveData(job, point, kKind) {}

  Result<Ns> run(Count iters) override {
    return with_width(
        element_, [&](auto zero) { return time_loop(iters, [&](Count) { return call(zero); }); });
  }

 private:
  template <class T>
  Status call(T) {
    Context& ctx = job_.ctx();
    const Team& team = job_.runtime().world();
    auto* const dst = reinterpret_cast<T*>(dst_);
    const auto* const src = reinterpret_cast<const T*>(src_);
    const auto stride = static_cast<std::ptrdiff_t>(stride_);
    switch (kKind) {
      case Collective::kBroadcast: return broadcast(ctx, team, dst, src, count_, kRoot);
      case Collective::kFcollect: return fcollect(ctx, team, dst, src, count_);
      case Collective::kCollect: return collect(ctx, team, dst, src, count_of(job_.pe()));
      case Collective::kAlltoall: return alltoall(ctx, team, dst, src, count_);
      case Collective::kAlltoalls: break;
    }
    return alltoalls(ctx, team, dst, src, stride, stride, count_);
  }
};

constexpr std::string_view kFormula =
    "time = batch / calls, of the slowest PE; GB/s = (PEs - 1) * size / p50: what each receives";
constexpr unsigned kUses = kUsesSize | kUsesType;

template <Collective kKind>
Row row(std::string_view name, std::string_view what) {
  return {.name = name,
          .what = what,
          .formula = kFormula,
          .floor = kCollectiveBaseline,
          .min_pes = 1,
          .uses = kUses | (kKind == Collective::kAlltoalls ? kUsesStride : 0u),
          .max = 1u << 20,
          .make = make<HostCollective<kKind>>};
}

}  // namespace

std::vector<Row> collective_rows() {
  std::vector<Row> rows = {
      row<Collective::kBroadcast>("broadcast", "PE 0's block to every PE"),
      row<Collective::kFcollect>("fcollect", "every PE's block to every PE, blocks of one size"),
      row<Collective::kCollect>("collect",
                                "every PE's block to every PE, blocks of different sizes "
                                "(size: the largest)"),
      row<Collective::kAlltoall>("alltoall", "a block from every PE to every PE"),
      row<Collective::kAlltoalls>("alltoalls", "the same, elements -i apart on both sides"),
  };
  rows[0].formula = "time = batch / calls, of the slowest PE; GB/s = size / p50";
  return rows;
}

}  // namespace weft::perf
