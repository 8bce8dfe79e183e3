// The set gpu_ring: what kernels ask of the host, where no GPU reaches the other's memory. Over
// the transport null (WEFT_GPU_TRANSPORTS=null,loopback) nothing is moved, and what is left is the
// ring and the proxy; over another one it is all of the way.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <weft/weft.hpp>

#include "perftest/gpu/gpu.hpp"
#include "perftest/gpu/kernels.hpp"
#include "perftest/report.hpp"
#include "perftest/statistics.hpp"
#include "perftest/status.hpp"
#include "perftest/timer.hpp"

namespace weft::perf::gpu {
namespace {

// The work of each thread of a kernel, `iters` times, as one PE to another.
struct RingWork {
  DeviceContext handle;
  Word *dst, *src;
  int peer, iters;
};
// All that threads ask for, complete at the end.
struct RingPuts {
  RingWork work;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(work.handle);
    for (int i = 0; i < work.iters; ++i)
      ctx.put_nbi(dev::Thread{}, work.dst, work.src, 1, work.peer);
    ctx.quiet(dev::Thread{});
  }
};
struct RingPutQuiet {
  RingWork work;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(work.handle);
    for (int i = 0; i < work.iters; ++i) {
      ctx.put_nbi(dev::Thread{}, work.dst, work.src, 1, work.peer);
      ctx.quiet(dev::Thread{});
    }
  }
};
// With nothing under way.
struct IdleQuiet {
  RingWork work;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(work.handle);
    for (int i = 0; i < work.iters; ++i) ctx.quiet(dev::Thread{});
  }
};

class RingBench {
 public:
  static Result<RingBench> create(Runtime& rt, Reporter& out) {
    RingBench bench(rt, out);
    bench.work_.peer = 1;
    ASSIGN_OR_RETURN(bench.work_.handle, rt.context().device());
    ASSIGN_OR_RETURN(bench.work_.dst, rt.callocate_device<Word>(1));
    ASSIGN_OR_RETURN(bench.work_.src, rt.callocate_device<Word>(1));
    if (rt.pe() == 0 && rt.context().ptr(bench.work_.dst, 1) != nullptr)
      return Status::error(Code::kUnsupported,
                           "gpu_ring: kernels reach PE 1 without a ring; set "
                           "WEFT_GPU_TRANSPORTS=null,loopback, or ofi,loopback");
    return bench;
  }

  // On PE 0; the others wait in a barrier.
  Status measure(const Row& row) {
    if (row.name == "gpu_ring_requests") return measure_requests(row);
    work_.iters = 2000;
    if (row.name == "gpu_ring_put_quiet")
      return report_each(row, time({1, 1}, RingPutQuiet{work_}));
    if (row.name == "gpu_ring_host_put") return report_each(row, time_of_host());
    if (row.name == "gpu_ring_fetch_add")
      return report_each(row,
                         time({1, 1}, FetchAdd{work_.handle, work_.dst, work_.peer, work_.iters}));
    work_.iters = 20000;
    return report_each(row, time({1, 1}, IdleQuiet{work_}));
  }

 private:
  struct Shape {
    unsigned blocks, threads;
    int count() const { return static_cast<int>(blocks * threads); }
  };

  RingBench(Runtime& rt, Reporter& out) : rt_(&rt), out_(&out) {}

  // As many requests as take some time, by whatever way they go.
  Status measure_requests(const Row& row) {
    constexpr int kFew = 1 << 10, kMany = 1 << 18;
    constexpr double kSeconds = 0.05;
    for (const Shape shape : {Shape{1, 1}, {1, 32}, {1, 1024}, {8, 1024}, {132, 256}}) {
      work_.iters = std::max(1, kFew / shape.count());
      ASSIGN_OR_RETURN(Summary seconds, time(shape, RingPuts{work_}));
      const double fit = work_.iters * kSeconds / seconds.p50;
      work_.iters = static_cast<int>(std::clamp(fit, 1.0, 1.0 * kMany / shape.count() + 1));
      ASSIGN_OR_RETURN(seconds, time(shape, RingPuts{work_}));
      report(row, shape, work_.iters * shape.count(), seconds);
    }
    return Status::ok();
  }

  Status report_each(const Row& row, const Result<Summary>& seconds) {
    if (!seconds) return seconds.status();
    report(row, {1, 1}, work_.iters, *seconds);
    return Status::ok();
  }

  // `seconds` of `count` operations.
  void report(const Row& row, Shape shape, int count, const Summary& seconds) {
    const auto each = [&](double all) { return 1e9 * all / count; };
    const Group group = shape.count() == 1 ? Group::kThread : Group::kBlock;
    Line line;
    line.row = &row;
    line.point = {sizeof(Word), find_type(row.type)};
    line.shape = shape_of({What::kPut, group, shape.blocks, shape.threads, 0});
    line.measured.batch = static_cast<Count>(count);
    line.measured.iters = line.measured.batch * seconds.samples;
    line.measured.time = {seconds.samples, each(seconds.min), each(seconds.p50), each(seconds.p99),
                          each(seconds.max)};
    out_->add(line);
  }

  // Seconds of kernels.
  template <class Kernel>
  Result<Summary> time(Shape shape, Kernel kernel) {
    constexpr int kTimes = 5;  // and one that warms up
    std::vector<double> seconds;
    for (int i = 0; i <= kTimes; ++i) {
      const Ns start = now_ns();
      RETURN_IF_ERROR(dev::launch({shape.blocks, shape.threads}, kernel));
      RETURN_IF_ERROR(dev::synchronize());
      if (i > 0) seconds.push_back(1e-9 * static_cast<double>(now_ns() - start));
    }
    RETURN_IF_ERROR(rt_->health());
    return summarize(std::move(seconds));
  }

  // The same by the transport alone: put and quiet of a host thread, `iters` times.
  Result<Summary> time_of_host() {
    Context& ctx = rt_->context();
    const Ns start = now_ns();
    for (int i = 0; i < work_.iters; ++i) {
      RETURN_IF_ERROR(ctx.put_nbi(work_.dst, work_.src, 1, work_.peer));
      RETURN_IF_ERROR(ctx.quiet());
    }
    return summarize({1e-9 * static_cast<double>(now_ns() - start)});
  }

  Runtime* rt_;
  Reporter* out_;
  RingWork work_{};
};

}  // namespace

Status run_ring(Job& job, std::span<const Row* const> rows, Reporter& out) {
  Runtime& rt = job.runtime();
  ASSIGN_OR_RETURN(RingBench bench, RingBench::create(rt, out));
  RETURN_IF_ERROR(rt.barrier());
  for (const Row* row : rows) {
    out.start(*row);
    if (rt.pe() == 0) RETURN_IF_ERROR(bench.measure(*row));
    out.finish(*row);
  }
  return rt.barrier();
}

}  // namespace weft::perf::gpu
