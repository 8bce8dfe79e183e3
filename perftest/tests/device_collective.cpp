// broadcast, fcollect, collect, alltoall, alltoalls inside kernels: one unit of every PE's kernel.
#include "perftest/elements.hpp"
#include "perftest/tests/collective_data.hpp"
#include "perftest/tests/kernel.hpp"

namespace weft::perf {
namespace {

template <Collective kKind, class T>
struct Body {
  static constexpr bool kAlone = true;
  Team team;
  T* dst;
  const T* src;
  std::size_t count;
  std::ptrdiff_t stride;
  int root;

  template <class Scope>
  WEFT_DEVICE bool operator()(const dev::Context& ctx, Scope scope, Unit, Count) const {
    if constexpr (kKind == Collective::kBroadcast) {
      return dev::broadcast(ctx, scope, team, dst, src, count, root);
    } else if constexpr (kKind == Collective::kFcollect) {
      return dev::fcollect(ctx, scope, team, dst, src, count);
    } else if constexpr (kKind == Collective::kCollect) {
      return dev::collect(ctx, scope, team, dst, src, count);
    } else if constexpr (kKind == Collective::kAlltoall) {
      return dev::alltoall(ctx, scope, team, dst, src, count);
    } else {
      return dev::alltoalls(ctx, scope, team, dst, src, stride, stride, count);
    }
  }
};

template <Collective kKind>
class DeviceCollective : public CollectiveData {
 public:
  DeviceCollective(Job& job, const Point& point) : CollectiveData(job, point, kKind) {}

  Result<Ns> run(Count iters) override {
    return with_width(element_, [&](auto zero) {
      using T = decltype(zero);
      const Body<kKind, T> body{job_.runtime().world(),
                                reinterpret_cast<T*>(dst_),
                                reinterpret_cast<const T*>(src_),
                                kKind == Collective::kCollect ? count_of(job_.pe()) : count_,
                                static_cast<std::ptrdiff_t>(stride_),
                                kRoot};
      return run_kernel(job_, point_.scope, body, iters);
    });
  }
};

template <Collective kKind>
Row row(std::string_view name, std::string_view what, std::string_view formula) {
  return {.name = name,
          .api = Api::kDevice,
          .what = what,
          .formula = formula,
          .floor = kCollectiveBaseline,
          .min_pes = 1,
          .uses = kUsesSize | kUsesType | kUsesScope |
                  (kKind == Collective::kAlltoalls ? kUsesStride : 0u),
          .max = 1u << 20,
          .make = make<DeviceCollective<kKind>>};
}

constexpr std::string_view kOne =
    "time = kernel time / calls, of the slowest PE; GB/s = size / p50";
constexpr std::string_view kEach =
    "time = kernel time / calls, of the slowest PE; GB/s = (PEs - 1) * size / p50";

}  // namespace

std::vector<Row> device_collective_rows() {
  return {
      row<Collective::kBroadcast>("broadcast", "in a kernel: PE 0's block to every PE", kOne),
      row<Collective::kFcollect>(
          "fcollect", "in a kernel: every PE's block to every PE, blocks of one size", kEach),
      row<Collective::kCollect>(
          "collect", "in a kernel: every PE's block to every PE, blocks of different sizes", kEach),
      row<Collective::kAlltoall>("alltoall", "in a kernel: a block from every PE to every PE",
                                 kEach),
      row<Collective::kAlltoalls>("alltoalls", "in a kernel: the same, elements -i apart", kEach),
  };
}

}  // namespace weft::perf
