// weft-gpu-perf --ring: what kernels ask of the host, where no GPU reaches the other's memory. Over
// the transport null (WEFT_GPU_TRANSPORTS=null,loopback) nothing is moved, and what is left is the
// ring and the proxy; over another one it is all of the way.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <weft/weft.hpp>

#include "perftest/gpu/kernels.hpp"
#include "perftest/gpu/rows.hpp"
#include "perftest/statistics.hpp"
#include "perftest/status.hpp"
#include "perftest/timer.hpp"

namespace weft::perf::gpu {

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
  static Result<RingBench> create(Runtime& rt) {
    RingBench bench(rt);
    bench.work_.peer = 1;
    if (rt.npes() < 2)
      return Status::error(Code::kInvalidArgument, "weft-gpu-perf --ring: two PEs are wanted");
    ASSIGN_OR_RETURN(bench.work_.handle, rt.context().device());
    ASSIGN_OR_RETURN(bench.work_.dst, rt.callocate_device<Word>(1));
    ASSIGN_OR_RETURN(bench.work_.src, rt.callocate_device<Word>(1));
    if (rt.pe() == 0 && rt.context().ptr(bench.work_.dst, 1) != nullptr)
      return Status::error(Code::kUnsupported,
                           "weft-gpu-perf --ring: kernels reach PE 1 without a ring; set "
                           "WEFT_GPU_TRANSPORTS=null,loopback, or ofi,loopback");
    return bench;
  }

  Status run(bool lines) {
    RETURN_IF_ERROR(rt_->barrier());
    if (rt_->pe() == 0) RETURN_IF_ERROR(measure(lines));
    return rt_->barrier();
  }

 private:
  struct Shape {
    unsigned blocks, threads;
    int count() const { return static_cast<int>(blocks * threads); }
  };

  explicit RingBench(Runtime& rt) : rt_(&rt) {}

  // As many requests as take some time, by whatever way they go.
  Status measure(bool lines) {
    constexpr int kFew = 1 << 10, kMany = 1 << 18;
    constexpr double kSeconds = 0.05;
    for (const Shape shape : {Shape{1, 1}, {1, 32}, {1, 1024}, {8, 1024}, {132, 256}}) {
      work_.iters = std::max(1, kFew / shape.count());
      ASSIGN_OR_RETURN(double seconds, time(shape, RingPuts{work_}));
      const double fit = work_.iters * kSeconds / seconds;
      work_.iters = static_cast<int>(std::clamp(fit, 1.0, 1.0 * kMany / shape.count() + 1));
      ASSIGN_OR_RETURN(seconds, time(shape, RingPuts{work_}));
      print(lines, "requests", shape, 1e-6 * work_.iters * shape.count() / seconds, "M/s");
    }
    work_.iters = 2000;
    const auto each = [&](const char* name, double seconds) {
      print(lines, name, {1, 1}, 1e6 * seconds / work_.iters, "us");
    };
    ASSIGN_OR_RETURN(double seconds, time({1, 1}, RingPutQuiet{work_}));
    each("put+quiet", seconds);
    ASSIGN_OR_RETURN(seconds, time_of_host());
    each("host put", seconds);
    ASSIGN_OR_RETURN(seconds,
                     time({1, 1}, FetchAdd{work_.handle, work_.dst, work_.peer, work_.iters}));
    each("fetch_add", seconds);
    work_.iters = 20000;
    ASSIGN_OR_RETURN(seconds, time({1, 1}, IdleQuiet{work_}));
    each("idle quiet", seconds);
    return Status::ok();
  }

  // Seconds of a kernel, the median of some.
  template <class Kernel>
  Result<double> time(Shape shape, Kernel kernel) {
    constexpr int kTimes = 5;  // and one that warms up
    std::vector<double> seconds;
    for (int i = 0; i <= kTimes; ++i) {
      const Ns start = now_ns();
      RETURN_IF_ERROR(dev::launch({shape.blocks, shape.threads}, kernel));
      RETURN_IF_ERROR(dev::synchronize());
      if (i > 0) seconds.push_back(1e-9 * static_cast<double>(now_ns() - start));
    }
    RETURN_IF_ERROR(rt_->health());
    return summarize(std::move(seconds)).p50;
  }

  // The same by the transport alone: put and quiet of a host thread, `iters` times.
  Result<double> time_of_host() {
    Context& ctx = rt_->context();
    const Ns start = now_ns();
    for (int i = 0; i < work_.iters; ++i) {
      RETURN_IF_ERROR(ctx.put_nbi(work_.dst, work_.src, 1, work_.peer));
      RETURN_IF_ERROR(ctx.quiet());
    }
    return 1e-9 * static_cast<double>(now_ns() - start);
  }

  static void print(bool lines, const char* name, Shape shape, double value, const char* unit) {
    const Group group = shape.count() == 1 ? Group::kThread : Group::kBlock;
    const std::string of = shape_of({What::kPut, group, shape.blocks, shape.threads, 0});
    std::printf(lines ? "weft\tring %s\t%s\t8\t%.6g\t%s\n" : "%-10s %-10s %10.3f %s\n", name,
                of.c_str(), value, unit);
    std::fflush(stdout);
  }

  Runtime* rt_;
  RingWork work_{};
};

}  // namespace weft::perf::gpu
