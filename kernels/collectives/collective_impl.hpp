// What a collective operator is made of: the workspace, and a call of the target's kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include <weft/kernels/collectives.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/core/memory.hpp"

namespace weft::kernels {

// AllReduceNorm: how its messages are cut.
struct RowShape {
  std::size_t hidden = 0;  // elements; 0: messages have no rows
  float epsilon = 0;
};
struct NormBuffers {
  void *out, *residual_out;
  const void *in, *residual, *weight;
};

class CollectiveImpl {
 public:
  static Result<std::unique_ptr<CollectiveImpl>> create(Runtime& runtime, const Team& team,
                                                        Collective what,
                                                        const CollectiveProblem& problem,
                                                        const CollectiveOptions& options,
                                                        const RowShape& shape = {});

  // `root`: broadcasts only.
  Status run(Stream stream, void* out, const void* in, std::size_t count, int root = 0) const;
  Status run(Stream stream, void* out, const void* in, const AllToAllVSizes& sizes) const;
  Status run(Stream stream, const NormBuffers& buffers, std::size_t rows) const;
  Result<Plan> plan(std::size_t count) const;
  std::size_t workspace_bytes() const;
  std::string describe() const;

 private:
  CollectiveImpl(Runtime& runtime, Collective what, const CollectiveProblem& problem,
                 const CollectiveOptions& options, const RowShape& shape)
      : runtime_(&runtime), what_(what), problem_(problem), options_(options), shape_(shape) {
    limits_.symmetric = options.symmetric;
  }

  Status check_problem(int npes) const;
  Status check_call(const void* out, const void* in, std::size_t count, int root) const;
  Status check_address(const char* argument, const void* address) const;
  Status check_symmetric(const Messages& messages) const;
  Status check_symmetric(const char* argument, const std::byte* address, std::size_t bytes) const;
  Status check_sizes(const AllToAllVSizes& sizes) const;
  Status choose_kernels(const Runtime& runtime);
  Status agree(Runtime& runtime);
  Status share_table(Runtime& runtime, const Result<std::vector<PlanRow>>& read,
                     std::uint64_t rows_of_first);
  Status make_workspace(Runtime& runtime);
  Result<Plan> plan_bytes(std::size_t count) const;
  // AllReduceNorm: `split` blocks share a row.
  struct RowPlan {
    Plan plan;
    unsigned split;
  };
  RowPlan plan_rows(Plan made, std::size_t rows) const;
  // Some call may go as words.
  bool takes_words() const;
  unsigned split(std::size_t rows) const;
  // Of a call in packets, who wait for one another.
  unsigned blocks_of_rows() const { return std::min(limits_.channels, at_once_); }
  std::size_t row_bytes() const { return shape_.hidden * bytes_of(problem_.dtype); }
  Messages messages(void* out, const void* in, std::size_t count) const;
  std::string name() const { return to_string(what_); }
  bool is_of_floats() const {
    return problem_.dtype != DType::kInt32 && problem_.dtype != DType::kUint8;
  }
  bool sums_floats() const { return is_of_floats() && problem_.op == ReduceOp::kSum; }

  Runtime* const runtime_;
  const Collective what_;
  const CollectiveProblem problem_;
  const CollectiveOptions options_;
  const RowShape shape_;
  Call call_;
  std::vector<PlanRow> table_;
  std::string table_name_;
  bool gpu_ = false;
  int team_size_ = 1;    // the same on all PEs of the job
  bool mapped_ = false;  // all members map all
  PlanLimits limits_;
  unsigned at_once_ = kMostBlocks;  // blocks that the GPU has room for
  bool clusters_ = false;           // blocks may share a row as a cluster
  RunCall* run_call_ = nullptr;
  SymmetricMemory rounds_, rest_;
};

}  // namespace weft::kernels
