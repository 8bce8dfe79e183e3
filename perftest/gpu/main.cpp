// weft-gpu-perf: operations in kernels beside bare kernels that do the same, in one run.
//
//   weft-gpu-perf [PES]     PEs are threads, each with a GPU; by default 2
//
// A line per row: what, shape, bytes, Weft, the floor, the unit, and Weft as a share of the floor
// (1.00: nothing is lost). Times are the best of several, each many operations long.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <weft/weft.hpp>

#include "perftest/gpu/kernels.hpp"
#include "perftest/size.hpp"
#include "perftest/status.hpp"
#include "perftest/timer.hpp"

namespace weft::perf::gpu {
namespace {

constexpr std::size_t kMost = std::size_t{64} << 20;
constexpr int kRepeats = 5;

// What a PE measures with.
class Bench {
 public:
  static Result<Bench> create(Runtime& rt) {
    Bench bench(rt);
    ASSIGN_OR_RETURN(bench.handle, rt.context().device());
    ASSIGN_OR_RETURN(bench.dst, rt.allocate_device<Vector>(kMost / sizeof(Vector)));
    ASSIGN_OR_RETURN(bench.src, rt.allocate_device<Vector>(kMost / sizeof(Vector)));
    ASSIGN_OR_RETURN(bench.words, rt.allocate_device<Word>(1024));
    const std::vector<Word> zeros(1024);
    RETURN_IF_ERROR(rt.context().put(bench.words, zeros.data(), zeros.size(), rt.pe()));
    RETURN_IF_ERROR(rt.barrier());
    return bench;
  }

  // Seconds of one of `iters` operations of `make(iters)`, on those PEs that take part.
  template <class Make>
  Result<double> time(dev::Grid grid, int iters, bool takes_part, Make make) {
    double best = 1e9;
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {  // the first warms up
      RETURN_IF_ERROR(rt_->barrier());
      const auto kernel = make();  // on all PEs, so that they count alike
      const Ns start = now_ns();
      if (takes_part) {
        RETURN_IF_ERROR(dev::launch(grid, kernel));
        RETURN_IF_ERROR(dev::synchronize());
      }
      if (repeat > 0) best = std::min(best, 1e-9 * static_cast<double>(now_ns() - start) / iters);
    }
    RETURN_IF_ERROR(rt_->barrier());
    return best;
  }
  Word next(int iters) {
    const Word first = turn_;
    turn_ += static_cast<Word>(iters);
    return first;
  }
  int pe() const { return rt_->pe(); }
  int npes() const { return rt_->npes(); }
  Runtime& runtime() const { return *rt_; }

  DeviceContext handle;
  Vector *dst = nullptr, *src = nullptr;
  Word* words = nullptr;

 private:
  explicit Bench(Runtime& rt) : rt_(&rt) {}
  Runtime* rt_;
  Word turn_ = 1;  // of ping-pongs: values only rise
};

void print(const Bench& bench, const char* row, const std::string& shape, std::size_t bytes,
           double weft, double floor, bool bandwidth) {
  if (bench.pe() != 0) return;
  const double scale = bandwidth ? static_cast<double>(bytes) * 1e-9 : 1e6;
  const double a = bandwidth ? scale / weft : scale * weft;
  const double b = bandwidth ? scale / floor : scale * floor;
  std::printf("%-14s %-22s %8s %10.3f %10.3f %-5s %6.3f\n", row, shape.c_str(),
              (bytes == 0 ? "-" : format_size(bytes)).c_str(), a, b, bandwidth ? "GB/s" : "us",
              floor / weft);
  std::fflush(stdout);
}

std::string shape_of(unsigned blocks, unsigned threads) {
  return std::to_string(blocks) + " x " + std::to_string(threads) + " threads";
}

Status measure_move(Bench& b, bool gets, unsigned blocks, std::size_t bytes) {
  const int iters = std::max<int>(4, static_cast<int>((std::size_t{1} << 30) / bytes / 4));
  const Move move{b.handle, b.dst, b.src, bytes / sizeof(Vector), 1 % b.npes(), iters, gets};
  ASSIGN_OR_RETURN(const double weft,
                   b.time({blocks, 1024}, iters, b.pe() == 0, [&] { return move; }));
  ASSIGN_OR_RETURN(const double floor,
                   b.time({blocks, 1024}, iters, b.pe() == 0, [&] { return BareMove{move}; }));
  print(b, gets ? "get" : "put", shape_of(blocks, 1024), bytes, weft, floor, true);
  return Status::ok();
}

template <class Scope>
Status measure_ping_pong(Bench& b, const char* row, unsigned threads, std::size_t bytes) {
  constexpr int kIters = 2000;
  const auto game = [&] {
    return PingPong<Scope>{b.handle, b.words, b.next(kIters), b.dst, b.src, bytes / sizeof(Vector),
                           kIters};
  };
  ASSIGN_OR_RETURN(const double weft, b.time({1, threads}, kIters, b.pe() < 2, game));
  ASSIGN_OR_RETURN(const double floor, b.time({1, threads}, kIters, b.pe() < 2,
                                              [&] { return BarePingPong<Scope>{game()}; }));
  print(b, row, shape_of(1, threads), bytes, weft, floor, false);
  return Status::ok();
}

template <class Scope>
Status measure_put_latency(Bench& b, const char* row, unsigned threads, std::size_t bytes) {
  constexpr int kIters = 2000;
  const PutLatency<Scope> put{b.handle, b.dst, b.src, bytes / sizeof(Vector), 1 % b.npes(), kIters};
  ASSIGN_OR_RETURN(const double weft,
                   b.time({1, threads}, kIters, b.pe() == 0, [&] { return put; }));
  ASSIGN_OR_RETURN(const double floor, b.time({1, threads}, kIters, b.pe() == 0,
                                              [&] { return BarePutLatency<Scope>{put}; }));
  print(b, row, shape_of(1, threads), bytes, weft, floor, false);
  return Status::ok();
}

Status measure_fetch_add(Bench& b) {
  constexpr int kIters = 5000;
  const FetchAdd add{b.handle, b.words + 512, 1 % b.npes(), kIters};
  ASSIGN_OR_RETURN(const double weft, b.time({1, 1}, kIters, b.pe() == 0, [&] { return add; }));
  ASSIGN_OR_RETURN(const double floor,
                   b.time({1, 1}, kIters, b.pe() == 0, [&] { return BareFetchAdd{add}; }));
  print(b, "fetch_add", "1 thread", 0, weft, floor, false);
  return Status::ok();
}

Status measure_meeting(Bench& b, bool barriers, unsigned threads) {
  constexpr int kIters = 2000;
  const Meet meet{b.handle, b.runtime().world(), kIters, barriers};
  ASSIGN_OR_RETURN(const double weft, b.time({1, threads}, kIters, true, [&] { return meet; }));
  ASSIGN_OR_RETURN(const double floor, b.time({1, threads}, kIters, true, [&] {
    return BareMeet{meet, b.words + 256, b.next(kIters)};
  }));
  print(b, barriers ? "barrier" : "sync", shape_of(1, threads), 0, weft, floor, false);
  return Status::ok();
}

Status measure_all(Runtime& rt) {
  if (rt.gpu() < 0)
    return Status::error(Code::kUnsupported, "weft-gpu-perf: this job has no GPU memory");
  ASSIGN_OR_RETURN(Bench b, Bench::create(rt));
  if (b.pe() == 0)
    std::printf("%-14s %-22s %8s %10s %10s %-5s %6s\n", "row", "shape", "bytes", "Weft", "floor",
                "unit", "share");
  Status status;
  const auto then = [&](auto&& measured) {
    if (status.is_ok()) status = measured();
  };
  for (const bool gets : {false, true}) {
    for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{4} << 20})
      for (const unsigned blocks : {1u, 8u})
        then([&] { return measure_move(b, gets, blocks, bytes); });
    for (const unsigned blocks : {8u, 32u, 132u})
      then([&] { return measure_move(b, gets, blocks, std::size_t{32} << 20); });
  }
  then([&] { return measure_put_latency<dev::Thread>(b, "put, thread", 1, 16); });
  then([&] { return measure_put_latency<dev::Thread>(b, "put, thread", 1, 1024); });
  then([&] { return measure_put_latency<dev::Warp>(b, "put, warp", 32, 16 << 10); });
  then([&] { return measure_put_latency<dev::Block>(b, "put, block", 1024, 16 << 10); });
  if (b.npes() > 1) {
    then([&] { return measure_ping_pong<dev::Thread>(b, "signal", 1, 0); });
    for (const std::size_t bytes : {16, 512, 4096})
      then([&] { return measure_ping_pong<dev::Block>(b, "put_signal", 1024, bytes); });
    then([&] { return measure_ping_pong<dev::Warp>(b, "put_signal", 32, 16); });
  }
  then([&] { return measure_fetch_add(b); });
  for (const bool barriers : {true, false})
    for (const unsigned threads : {32u, 1024u})
      then([&] { return measure_meeting(b, barriers, threads); });
  return status;
}

}  // namespace
}  // namespace weft::perf::gpu

int main(int argc, char** argv) {
  const int npes = argc > 1 ? std::atoi(argv[1]) : 2;
  auto options = weft::Options::from_environment();
  if (npes < 1 || argc > 2 || !options) {
    std::fprintf(stderr, "usage: weft-gpu-perf [PES]\n");
    return 2;
  }
  const weft::Status status = weft::run_local(npes, weft::perf::gpu::measure_all, *options);
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.is_ok() ? 0 : 1;
}
