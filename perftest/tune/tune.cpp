#include "perftest/tune/tune.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <weft/collective.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/kernels/collectives.hpp>

#include "perftest/status.hpp"
#include "perftest/tune/calls.hpp"

namespace weft::perf::tune {
namespace {

using kernels::Algorithm;
using kernels::AllGather;
using kernels::AllReduce;
using kernels::AllReduceNorm;
using kernels::AllToAll;
using kernels::AllToAllV;
using kernels::Broadcast;
using kernels::Collective;
using kernels::CollectiveOptions;
using kernels::CollectiveProblem;
using kernels::DType;
using kernels::Plan;
using kernels::PlanRow;
using kernels::ReduceScatter;

constexpr std::size_t kElement = 2;    // bytes, of bfloat16
constexpr std::size_t kHidden = 4096;  // of an AllReduceNorm's rows
constexpr int kTurns = 5;

int calls_for(std::size_t bytes, bool gpu) {
  if (!gpu) return bytes <= (16 << 10) ? 20 : 4;
  return bytes <= (1 << 20) ? 100 : bytes <= (16 << 20) ? 20 : 5;
}

// Freed by all PEs together.
class Symmetric {
 public:
  explicit Symmetric(Runtime& runtime) : runtime_(&runtime) {}
  Symmetric(const Symmetric&) = delete;
  Symmetric& operator=(const Symmetric&) = delete;
  ~Symmetric() {
    // Memory that cannot be freed says so itself; the run is over.
    for (void* const memory : all_) runtime_->free(memory).ignore();
  }
  Result<std::byte*> zeros(std::size_t bytes, MemoryKind kind) {
    ASSIGN_OR_RETURN(void* const memory, runtime_->callocate_bytes(bytes, 1, kind));
    all_.push_back(memory);
    return static_cast<std::byte*>(memory);
  }

 private:
  Runtime* runtime_;
  std::vector<void*> all_;
};

using Call = std::function<Status(Stream stream, std::size_t bytes)>;

class Tuner {
 public:
  Tuner(Runtime& runtime, Collective what, const Sizes& sizes)
      : runtime_(runtime), what_(what), sizes_(sizes), memory_(runtime) {}

  Result<std::vector<PlanRow>> run(const std::function<void(const Measured&)>& say) {
    RETURN_IF_ERROR(allocate());
    std::vector<Measured> all;
    for (const Way& way : ways_of(what_, runtime_.npes(), runtime_.gpu() >= 0))
      RETURN_IF_ERROR(measure(way, all, say));
    return choose(what_, runtime_.npes(), all);
  }

 private:
  Status allocate() {
    ASSIGN_OR_RETURN(recorder_, Recorder::create(runtime_));
    const auto npes = static_cast<std::size_t>(runtime_.npes());
    const std::size_t most = sizes_.to * npes;
    ASSIGN_OR_RETURN(in_, memory_.zeros(most, MemoryKind::kDevice));
    ASSIGN_OR_RETURN(out_, memory_.zeros(most, MemoryKind::kDevice));
    ASSIGN_OR_RETURN(sums_, memory_.zeros(sizes_.to, MemoryKind::kDevice));
    ASSIGN_OR_RETURN(auto* const words,
                     memory_.zeros(3 * npes * sizeof(std::uint64_t), MemoryKind::kDevice));
    counts_ = reinterpret_cast<std::uint64_t*>(words);
    ASSIGN_OR_RETURN(auto* const times, memory_.zeros(2 * sizeof(double), MemoryKind::kHost));
    times_ = reinterpret_cast<double*>(times);
    return Status::ok();
  }

  // All sizes at which the way has a chance.
  Status measure(const Way& way, std::vector<Measured>& all,
                 const std::function<void(const Measured&)>& say) {
    CollectiveOptions options;
    options.algorithm = way.algorithm;
    options.blocks = way.blocks;
    options.threads = way.threads;
    options.symmetric = way.algorithm == Algorithm::kZeroCopy;
    ASSIGN_OR_RETURN(Call call, make(options));
    for (std::size_t bytes = sizes_.from; bytes <= sizes_.to; bytes *= 2) {
      if (what_ == Collective::kAllReduceNorm && bytes < row_bytes()) continue;
      if (what_ == Collective::kAllToAllV) {
        ASSIGN_OR_RETURN(call, make_by_counts(options, bytes));
        if (!call) break;
      }
      Measured made{way, bytes, 0};
      ASSIGN_OR_RETURN(made.us, time(call, bytes));
      all.push_back(made);
      say(made);
      double& best = best_.try_emplace(bytes, made.us).first->second;
      best = std::min(best, made.us);
      const bool bulk = way.algorithm == Algorithm::kSimple ||
                        way.algorithm == Algorithm::kScatteredSimple ||
                        way.algorithm == Algorithm::kZeroCopy;
      if (!bulk && made.us > kHopeless * best) break;
    }
    return runtime_.barrier();
  }

  Result<Call> make(const CollectiveOptions& options) {
    switch (what_) {
      case Collective::kAllReduce: return make_plain<AllReduce>(options);
      case Collective::kAllGather: return make_plain<AllGather>(options);
      case Collective::kReduceScatter: return make_plain<ReduceScatter>(options);
      case Collective::kAllToAll: return make_plain<AllToAll>(options);
      case Collective::kBroadcast: return make_plain<Broadcast>(options);
      case Collective::kAllReduceNorm: return make_norm(options);
      case Collective::kAllToAllV: return Call();  // of each size its own
    }
    return Status::error(Code::kInternal, "weft-tune does not know the collective");
  }
  template <class Op>
  Result<Call> make_plain(const CollectiveOptions& options) {
    const CollectiveProblem problem{sizes_.to / kElement, DType::kBfloat16, ReduceOp::kSum};
    auto made = Op::create(runtime_, problem, options);
    if (!made) return std::move(made).status();
    const auto op = std::make_shared<Op>(*std::move(made));
    return Call([this, op](Stream stream, std::size_t bytes) {
      if constexpr (std::is_same_v<Op, Broadcast>)
        return (*op)(stream, out_, in_, bytes / kElement, 0);
      else
        return (*op)(stream, out_, in_, bytes / kElement);
    });
  }
  // An AllToAllV goes by the largest that it was made for: here what all have for all. None where a
  // round of LL does not hold it, since tables are not asked for LL then.
  Result<Call> make_by_counts(const CollectiveOptions& options, std::size_t bytes) {
    const std::size_t count = bytes / kElement;
    auto made = AllToAllV::create(runtime_, {count, DType::kBfloat16, ReduceOp::kSum}, options);
    if (!made) return std::move(made).status();
    const auto op = std::make_shared<AllToAllV>(*std::move(made));
    ASSIGN_OR_RETURN(const Plan plan, op->plan(count));
    if (plan.algorithm == Algorithm::kLL && plan.piece * plan.blocks < bytes) return Call();
    const auto npes = static_cast<std::size_t>(runtime_.npes());
    std::vector<std::uint64_t> words(npes, count);  // counts, then offsets
    for (std::size_t rank = 0; rank < npes; ++rank) words.push_back(rank * count);
    RETURN_IF_ERROR(runtime_.context().put(counts_, words.data(), words.size(), runtime_.pe()));
    RETURN_IF_ERROR(runtime_.context().quiet());
    std::uint64_t* const offsets = counts_ + npes;
    return Call([this, op, offsets, npes](Stream stream, std::size_t) {
      return (*op)(stream, out_, in_, {counts_, offsets, offsets, offsets + npes});
    });
  }
  Result<Call> make_norm(const CollectiveOptions& options) {
    const std::size_t row = row_bytes();
    auto made = AllReduceNorm::create(
        runtime_, {sizes_.to / row, row / kElement, DType::kBfloat16, 1e-6f}, options);
    if (!made) return std::move(made).status();
    const auto op = std::make_shared<AllReduceNorm>(*std::move(made));
    return Call([this, op, row](Stream stream, std::size_t bytes) {
      return (*op)(stream, out_, sums_, in_, sums_, in_, bytes / row);
    });
  }

  // The bytes of an AllReduceNorm's row: as models have, where sizes have several of them.
  std::size_t row_bytes() const { return std::min(kHidden * kElement, sizes_.to / 4); }

  // Microseconds of a call of many behind one another: the median of turns, the slowest PE's.
  Result<double> time(const Call& call, std::size_t bytes) {
    ASSIGN_OR_RETURN(const auto calls,
                     recorder_->record(calls_for(bytes, runtime_.gpu() >= 0),
                                       [&](Stream stream) { return call(stream, bytes); }));
    std::vector<double> turns;
    for (int turn = 0; turn <= kTurns; ++turn) {
      RETURN_IF_ERROR(runtime_.barrier());
      ASSIGN_OR_RETURN(const double us, calls->run());
      if (turn > 0) turns.push_back(us);  // the first one warms up
    }
    RETURN_IF_ERROR(runtime_.health());
    std::nth_element(turns.begin(), turns.begin() + kTurns / 2, turns.end());
    times_[0] = turns[kTurns / 2];
    RETURN_IF_ERROR(
        reduce(runtime_.context(), runtime_.world(), times_ + 1, times_, 1, ReduceOp::kMax));
    return times_[1];
  }

  Runtime& runtime_;
  const Collective what_;
  const Sizes sizes_;
  Symmetric memory_;
  std::unique_ptr<Recorder> recorder_;
  std::map<std::size_t, double> best_;  // microseconds by bytes
  std::byte *in_ = nullptr, *out_ = nullptr, *sums_ = nullptr;
  std::uint64_t* counts_ = nullptr;  // AllToAllV's; then offsets, and what came
  double* times_ = nullptr;
};

}  // namespace

Result<std::vector<PlanRow>> tune(Runtime& runtime, Collective what, const Sizes& sizes,
                                  const std::function<void(const Measured&)>& say) {
  Tuner tuner(runtime, what, sizes);
  return tuner.run(say);
}

}  // namespace weft::perf::tune
