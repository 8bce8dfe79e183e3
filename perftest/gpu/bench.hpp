// How a row is timed: a kernel and its floor in turns, with the data checked first.
#pragma once

#include <string>
#include <vector>

#include <weft/weft.hpp>

#include "perftest/gpu/kernels.hpp"
#include "perftest/gpu/kernel_points.hpp"
#include "perftest/measure.hpp"
#include "perftest/statistics.hpp"
#include "perftest/status.hpp"
#include "perftest/timer.hpp"

namespace weft::perf::gpu {

// The handle and the memory that a PE measures with.
class Bench {
 public:
  static Result<Bench> create(Runtime& rt) {
    Bench bench(rt);
    ASSIGN_OR_RETURN(bench.handle, rt.context().device());
    ASSIGN_OR_RETURN(bench.dst, rt.allocate_device<Vector>(kMostBytes / sizeof(Vector)));
    ASSIGN_OR_RETURN(bench.src, rt.allocate_device<Vector>(kMostBytes / sizeof(Vector)));
    ASSIGN_OR_RETURN(bench.words, rt.allocate_device<Word>(kWords));
    ASSIGN_OR_RETURN(bench.packets, rt.callocate_device<Vector>(
                                        BareExchange::packets(kMostOfCollective, rt.npes())));
    for (int pe = 0; pe < rt.npes(); ++pe)
      if (rt.context().ptr(bench.words, pe) == nullptr)
        return Status::error(Code::kUnsupported,
                             "bare kernels load and store what every PE's GPU has, "
                             "and the GPU of PE " +
                                 std::to_string(pe) + " is out of reach");
    RETURN_IF_ERROR(bench.fill(bench.words, std::vector<Word>(kWords)));
    RETURN_IF_ERROR(bench.fill(bench.src, contents(rt.pe(), kMostBytes)));
    RETURN_IF_ERROR(rt.barrier());
    return bench;
  }

  // Collective.
  Status release() {
    for (void* const memory : {static_cast<void*>(dst), static_cast<void*>(src),
                               static_cast<void*>(words), static_cast<void*>(packets)})
      RETURN_IF_ERROR(rt_->free(memory));
    return Status::ok();
  }

  // Collective. The makers are called on every PE, so that all count turns alike; who takes no part
  // in the row gets nothing. The floor is a bare kernel.
  template <class MakeWeft, class MakeFloor>
  Result<Measurement> measure(const KernelPoint& row, MakeWeft make_weft, MakeFloor make_floor) {
    RETURN_IF_ERROR(fill(dst, std::vector<Word>(row.bytes / sizeof(Word))));
    ASSIGN_OR_RETURN(double ns, time(row, make_weft()));  // warms up
    RETURN_IF_ERROR(check(row));
    ASSIGN_OR_RETURN(ns, time(row, make_floor()));
    std::vector<double> weft, floor;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      ASSIGN_OR_RETURN(ns, time(row, make_weft()));
      weft.push_back(ns);
      ASSIGN_OR_RETURN(ns, time(row, make_floor()));
      floor.push_back(ns);
    }
    Measurement made;
    if (!takes_part(row, pe())) return made;
    made.batch = static_cast<Count>(iterations(row));
    made.iters = made.batch * kRepeats;
    made.ratio = paired_ratio(weft, floor);
    made.time = summarize(std::move(weft));
    made.floor = summarize(std::move(floor));
    return made;
  }

  // The first of the values of a ping-pong: they only rise.
  Word next(int iters) {
    const Word first = turn_;
    turn_ += static_cast<Word>(iters);
    return first;
  }
  int peer() const { return 1 % npes(); }
  int pe() const { return rt_->pe(); }
  int npes() const { return rt_->npes(); }
  Runtime& runtime() const { return *rt_; }

  DeviceContext handle;
  Vector *dst = nullptr, *src = nullptr;
  Word* words = nullptr;
  Vector* packets = nullptr;  // of bare exchanges

 private:
  static constexpr std::size_t kWords = 1024;

  explicit Bench(Runtime& rt) : rt_(&rt) {}

  Status fill(void* mine, const std::vector<Word>& with) {
    if (with.empty()) return Status::ok();
    return rt_->context().put_bytes(mine, with.data(), with.size() * sizeof(Word), pe());
  }

  // Nanoseconds of one operation.
  template <class Kernel>
  Result<double> time(const KernelPoint& row, Kernel kernel) {
    RETURN_IF_ERROR(rt_->barrier());
    if (!takes_part(row, pe())) return 0.0;
    const Ns start = now_ns();
    const std::size_t shared = row.group == Group::kBulk ? kBulkStage : 0;
    RETURN_IF_ERROR(dev::launch({row.blocks, row.threads, shared}, kernel));
    RETURN_IF_ERROR(dev::synchronize());
    return static_cast<double>(now_ns() - start) / iterations(row);
  }

  Status check(const KernelPoint& row) {
    RETURN_IF_ERROR(rt_->barrier());
    if (receiver(row, npes()) != pe()) return Status::ok();
    std::vector<Word> seen(row.bytes / sizeof(Word));
    RETURN_IF_ERROR(rt_->context().get_bytes(seen.data(), dst, row.bytes, pe()));
    if (seen == outcome(row, npes())) return Status::ok();
    return Status::error(Code::kInternal, std::string("wrong data after ") + name_of(row.what) +
                                              ", " + shape_of(row));
  }

  Runtime* rt_;
  Word turn_ = 1;
};

}  // namespace weft::perf::gpu
