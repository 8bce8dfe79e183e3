// weft-gpu-perf: operations in kernels beside bare kernels that do the same, in one run.
//
//   weft-run -n 8 weft-gpu-perf     PEs are processes
//   weft-gpu-perf --pes 2           PEs are threads
//     --tsv                         lines for programs: who, row, shape, bytes, value, unit
//     --ring                        no rows: what kernels ask of the host (ring.hpp)
//     --start-up NS                 no rows: the seconds from NS (`date +%s%N`) until a first
//     kernel
//                                   has put a word to the next PE, a line from each PE
//
// Each PE has a GPU. A line per row: what, shape, bytes, Weft, the floor, the unit, and Weft as a
// share of the floor's speed (1.00: nothing is lost). Times are medians of kernels that repeat the
// operation.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <weft/weft.hpp>

#include "perftest/gpu/bench.hpp"
#include "perftest/gpu/ring.hpp"
#include "perftest/size.hpp"

namespace weft::perf::gpu {
namespace {

struct Choices {
  int pes = 0;  // as threads; 0: this process is one
  bool lines = false;
  bool ring = false;
  long long started = 0;  // 0: measure rows
};

Result<Times> measure_stream(Bench& b, const Row& row) {
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
Result<Times> measure_put_quiet(Bench& b, const Row& row) {
  const PutLatency<Scope> put{b.handle, b.dst,          b.src, row.bytes / sizeof(Vector),
                              b.peer(), iterations(row)};
  return b.measure(
      row, [&] { return put; }, [&] { return BarePutLatency<Scope>{put}; });
}

template <class Scope>
Result<Times> measure_ping_pong(Bench& b, const Row& row) {
  const int iters = iterations(row);
  const auto game = [&] {
    return PingPong<Scope>{
        b.handle, b.words, b.next(iters), b.dst, b.src, row.bytes / sizeof(Vector), iters};
  };
  return b.measure(row, game, [&] { return BarePingPong<Scope>{game()}; });
}

Result<Times> measure_fetch_add(Bench& b, const Row& row) {
  const FetchAdd add{b.handle, b.words + 512, b.peer(), iterations(row)};
  return b.measure(
      row, [&] { return add; }, [&] { return BareFetchAdd{add}; });
}

template <bool kBarriers>
Result<Times> measure_meeting(Bench& b, const Row& row) {
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
Result<Times> measure_collective(Bench& b, const Row& row) {
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
Result<Times> with_scope(Group group, Measure measure) {
  if (group == Group::kThread) return measure(dev::Thread{});
  if (group == Group::kWarp) return measure(dev::Warp{});
  return measure(dev::Block{});
}

Result<Times> measure(Bench& b, const Row& row) {
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
  return Status::error(Code::kInternal, "weft-gpu-perf: a row of no kind");
}

void print_row(const Row& row, const Times& times) {
  std::printf("%-10s %-10s %6s %10.3f %10.3f %-5s %6.3f\n", name_of(row.what),
              shape_of(row).c_str(), row.bytes == 0 ? "-" : format_size(row.bytes).c_str(),
              value_of(row, times.weft), value_of(row, times.floor), unit_of(row), times.share);
  std::fflush(stdout);
}

Status measure_all(Runtime& rt, bool lines) {
  ASSIGN_OR_RETURN(Bench b, Bench::create(rt));
  const bool prints = b.pe() == 0;
  if (prints && !lines)
    std::printf("%-10s %-10s %6s %10s %10s %-5s %6s\n", "row", "shape", "bytes", "Weft", "floor",
                "unit", "share");
  for (const Row& row : kRows) {
    if (is_pair(row) && b.npes() < 2) continue;
    ASSIGN_OR_RETURN(const Times times, measure(b, row));
    if (!prints) continue;
    if (!lines) {
      print_row(row, times);
      continue;
    }
    print_line("weft", row, times.weft);
    print_line("floor", row, times.floor);
  }
  return Status::ok();
}

Status start_up(Runtime& rt, const Choices& choices) {
  ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
  ASSIGN_OR_RETURN(Word* const word, rt.allocate_device<Word>(2));
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(dev::launch({}, FirstPut{handle, word}));
  RETURN_IF_ERROR(dev::synchronize());
  print_start_up("weft", rt.npes(), choices.pes > 0 ? "threads" : "processes", choices.started);
  return Status::ok();
}

Status run_pe(Runtime& rt, const Choices& choices) {
  if (rt.gpu() < 0)
    return Status::error(Code::kUnsupported, "weft-gpu-perf: this job has no GPU memory");
  if (choices.ring) {
    ASSIGN_OR_RETURN(RingBench bench, RingBench::create(rt));
    return bench.run(choices.lines);
  }
  return choices.started != 0 ? start_up(rt, choices) : measure_all(rt, choices.lines);
}

Status run(const Choices& choices) {
  ASSIGN_OR_RETURN(const Options options, Options::from_environment());
  const auto body = [&](Runtime& rt) { return run_pe(rt, choices); };
  if (choices.pes > 0) return run_local(choices.pes, body, options);
  ASSIGN_OR_RETURN(Runtime rt, Runtime::create(options));
  return body(rt);
}

std::optional<Choices> parse(int argc, char** argv) {
  Choices choices;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const long long value = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;
    if (name == "--tsv") {
      choices.lines = true;
    } else if (name == "--ring") {
      choices.ring = true;
    } else if (name == "--pes" && value > 0) {
      choices.pes = static_cast<int>(value);
      ++i;
    } else if (name == "--start-up" && value > 0) {
      choices.started = value;
      ++i;
    } else {
      return std::nullopt;
    }
  }
  return choices;
}

}  // namespace
}  // namespace weft::perf::gpu

int main(int argc, char** argv) {
  const auto choices = weft::perf::gpu::parse(argc, argv);
  if (!choices) {
    std::fprintf(
        stderr,
        "usage: [weft-run -n N] weft-gpu-perf [--pes N] [--tsv] [--ring] [--start-up NS]\n");
    return 2;
  }
  const weft::Status status = weft::perf::gpu::run(*choices);
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.is_ok() ? 0 : 1;
}
