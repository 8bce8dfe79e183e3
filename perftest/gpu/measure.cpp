// The set gpu: operations in kernels beside bare kernels that do the same, in one run. A time is
// the median of kernels that repeat the operation; data is checked first.
#include <string_view>

#include "perftest/gpu/bench.hpp"
#include "perftest/gpu/gpu.hpp"
#include "perftest/report.hpp"

namespace weft::perf::gpu {
namespace {

Result<Measurement> measure_stream(Bench& b, const KernelPoint& row) {
  const Move move{b.handle,
                  b.dst,
                  b.src,
                  row.bytes / sizeof(Vector),
                  b.peer(),
                  iterations(row),
                  row.what == What::kGet};
  const auto bare = [&] { return BareMove{move}; };
  if (row.group == Group::kBulk)
    return b.measure(
        row,
        [&] {
          return MoveInBulk{move, static_cast<unsigned>(kBulkStage)};
        },
        bare);
  return b.measure(
      row, [&] { return move; }, bare);
}

template <class Scope>
Result<Measurement> measure_put_quiet(Bench& b, const KernelPoint& row) {
  const PutLatency<Scope> put{b.handle, b.dst,          b.src, row.bytes / sizeof(Vector),
                              b.peer(), iterations(row)};
  return b.measure(
      row, [&] { return put; }, [&] { return BarePutLatency<Scope>{put}; });
}

template <class Scope>
Result<Measurement> measure_ping_pong(Bench& b, const KernelPoint& row) {
  const int iters = iterations(row);
  const auto game = [&] {
    return PingPong<Scope>{
        b.handle, b.words, b.next(iters), b.dst, b.src, row.bytes / sizeof(Vector), iters};
  };
  return b.measure(row, game, [&] { return BarePingPong<Scope>{game()}; });
}

Result<Measurement> measure_fetch_add(Bench& b, const KernelPoint& row) {
  const FetchAdd add{b.handle, b.words + 512, b.peer(), iterations(row)};
  return b.measure(
      row, [&] { return add; }, [&] { return BareFetchAdd{add}; });
}

template <bool kBarriers>
Result<Measurement> measure_meeting(Bench& b, const KernelPoint& row) {
  const int iters = iterations(row);
  const Team world = b.runtime().world();
  return b.measure(
      row,
      [&] {
        return Meet<kBarriers>{b.handle, world, iters};
      },
      [&] {
        return BareMeet{b.handle, b.words + 256, b.next(iters), iters};
      });
}

template <bool kReduces>
Result<Measurement> measure_collective(Bench& b, const KernelPoint& row) {
  const int iters = iterations(row);
  const std::size_t count = row.bytes / sizeof(Word);
  auto* const dst = reinterpret_cast<Word*>(b.dst);
  const auto* const src = reinterpret_cast<const Word*>(b.src);
  const Team world = b.runtime().world();
  return b.measure(
      row, [&] { return Collective<kReduces>{b.handle, world, dst, src, count, iters}; },
      [&] {
        return BareExchange{b.handle, b.packets, b.next(iters), dst, src, count, iters, kReduces};
      });
}

template <class Measure>
Result<Measurement> with_scope(Group group, Measure measure) {
  if (group == Group::kThread) return measure(dev::Thread{});
  if (group == Group::kWarp) return measure(dev::Warp{});
  return measure(dev::Block{});
}

Result<Measurement> measure(Bench& b, const KernelPoint& row) {
  switch (row.what) {
    case What::kPut:
    case What::kGet: return measure_stream(b, row);
    case What::kPutQuiet:
      return with_scope(row.group,
                        [&]<class Scope>(Scope) { return measure_put_quiet<Scope>(b, row); });
    case What::kSignal:
    case What::kPutSignal:
      return with_scope(row.group,
                        [&]<class Scope>(Scope) { return measure_ping_pong<Scope>(b, row); });
    case What::kFetchAdd: return measure_fetch_add(b, row);
    case What::kBarrier: return measure_meeting<true>(b, row);
    case What::kSync: return measure_meeting<false>(b, row);
    case What::kFcollect: return measure_collective<false>(b, row);
    case What::kReduce: return measure_collective<true>(b, row);
  }
  return Status::error(Code::kInternal, "a row of no kind");
}

What what_of(const Row& row) {
  for (const Named& one : kNamed)
    if (one.row == row.name) return one.what;
  return What::kPut;
}

Status report_points(Bench& b, const Options& options, const Row& row, Reporter& out) {
  const What what = what_of(row);
  const Range sizes = range(row, options);
  out.start(row);
  for (const KernelPoint& point : kKernelPoints) {
    if (point.what != what || (is_pair(point) && b.npes() < 2)) continue;
    if (point.bytes != 0 && (point.bytes < sizes.low || point.bytes > sizes.high)) continue;
    Line line;
    line.row = &row;
    line.point = {point.bytes, find_type(row.type)};
    line.work.bytes = static_cast<double>(point.bytes);
    line.shape = shape_of(point);
    ASSIGN_OR_RETURN(line.measured, measure(b, point));
    out.add(line);
  }
  out.finish(row);
  return Status::ok();
}

}  // namespace

Status run_points(Job& job, std::span<const Row* const> rows, Reporter& out) {
  ASSIGN_OR_RETURN(Bench b, Bench::create(job.runtime()));
  for (const Row* row : rows) RETURN_IF_ERROR(report_points(b, job.options(), *row, out));
  return b.release();
}

}  // namespace weft::perf::gpu
