// The rows of collectives share these: buffers, calls in CUDA graphs, NCCL beside.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/small_float.hpp>
#include <weft/weft.hpp>

#include "perftest/gpu_collectives/baseline.hpp"
#include "perftest/gpu_collectives/graph.hpp"
#include "perftest/report.hpp"
#include "perftest/status.hpp"

namespace weft::perf::collectives {

using kernels::CollectiveOptions;
using kernels::CollectiveProblem;
using kernels::DType;

// The collective that a row is named after.
Collective collective_of(const Row& row);

// The facts of a line besides its times.
struct Facts {
  const Row* row = nullptr;
  std::string layer;
  std::size_t bytes = 0, workspace = 0;
  kernels::Plan plan;
};

class Bench {
 public:
  // Buffers for `most` bytes of each PE. Collective.
  static Result<Bench> create(Job& job, std::size_t most, Reporter& out);

  Runtime& runtime() const { return job_->runtime(); }
  const Options& options() const { return job_->options(); }
  Stream stream() const { return stream_; }
  const Buffers& mine() const { return mine_; }
  const NcclBaseline& nccl() const { return *nccl_; }
  std::span<const Buffers> of_nccl(Collective what) const {
    return nccl_ ? nccl_->buffers(what) : std::span<const Buffers>();
  }
  Result<CollectiveOptions> collective_options() const;

  // Checks the data of a collective, times it and NCCL in turns and reports the line.
  Status measure(const Facts& facts, const Call& mine);
  // One for each way of NCCL's; none without it.
  Result<std::vector<Graph>> graphs_of_nccl(
      Collective what, const std::string& name, int calls,
      const std::function<Status(Stream, const Buffers&)>& call) const;
  Status time_line(const Facts& facts, int calls, const Graph& weft,
                   const std::vector<Graph>& theirs);
  Result<double> time(const Graph& graph) const;

  static std::string name_of(const Facts& facts);
  // A graph's start and the PEs' skew, some microseconds, are next to nothing of each.
  static int calls_of(std::size_t bytes) {
    return bytes <= (4 << 20) ? 50 : bytes <= (16 << 20) ? 25 : 8;
  }

 private:
  Bench(Job& job, Reporter& out) : job_(&job), out_(&out) {}
  Status check(Collective what, std::size_t bytes) const;
  double sent(Collective what) const;

  Job* job_;
  Reporter* out_;
  Stream stream_ = nullptr;
  Buffers mine_;
  std::optional<NcclBaseline> nccl_;
};

// Rows of AllReduceNorm and of AllToAllV; the others' are made alike.
Status norm_lines(Bench& bench, const Row& row);
Status lines_by_counts(Bench& bench, const Row& row);

}  // namespace weft::perf::collectives
