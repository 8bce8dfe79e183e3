// The parts of a collective operator: the workspace, and a call of the target's kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <weft/kernels/collectives.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/collectives/layout.hpp"
#include "kernels/core/exchange.hpp"
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
  // The same as a part of another operator, which has exchanged what PEs have to know of one
  // another, and gives it room in its own memory by bind(). `table`: of a TableFile.
  static Result<std::unique_ptr<CollectiveImpl>> part(Runtime& runtime, const Team& team,
                                                      Collective what,
                                                      const CollectiveProblem& problem,
                                                      const Agreement& agreement,
                                                      const std::vector<PlanRow>& table);
  // `workspace`: of workspace_bytes(), zeroed, at a multiple of kWorkspaceAlignment. A barrier
  // follows before any PE runs.
  Status bind(Runtime& runtime, std::byte* workspace);

  // `root`: broadcasts only.
  Status run(Stream stream, void* out, const void* in, std::size_t count, int root = 0) const;
  Status run(Stream stream, void* out, const void* in, const AllToAllVSizes& sizes) const;
  Status run(Stream stream, const NormBuffers& buffers, std::size_t rows) const;
  Result<Plan> plan(std::size_t count) const;
  std::size_t workspace_bytes() const { return rounds_bytes() + layout_.bytes; }
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
  // The checks and whatever else needs no other PE.
  static Result<std::unique_ptr<CollectiveImpl>> begin(Runtime& runtime, const Team& team,
                                                       Collective what,
                                                       const CollectiveProblem& problem,
                                                       const CollectiveOptions& options,
                                                       const RowShape& shape);
  Status choose_kernels(const Runtime& runtime);
  std::vector<Given> given() const;
  // From what all PEs know: the table, the channels, and where what lies in the workspace.
  Status settle(const Agreement& agreement, const std::vector<PlanRow>& table);
  void use_table(const std::vector<PlanRow>& table);
  void choose_channels(const GpuShare& gpu);
  Status lay_out();
  std::size_t most_bytes() const { return problem_.max_count * bytes_of(problem_.dtype); }
  // Their part of the workspace, before what layout_ has.
  std::size_t rounds_bytes() const {
    return align_up(limits_.channels * sizeof(Rounds), kWorkspaceAlignment);
  }
  Result<Plan> plan_bytes(std::size_t count) const;
  // AllReduceNorm: `split` blocks share a row.
  struct RowPlan {
    Plan plan;
    unsigned split;
  };
  RowPlan plan_rows(Plan made, std::size_t rows) const;
  // Some call may go by Lamport.
  bool takes_lamport() const;
  unsigned split(std::size_t rows) const;
  // The blocks of a call by LL, which wait for one another.
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
  Layout layout_;
  SymmetricMemory memory_;  // unless it is a part of another operator
};

}  // namespace weft::kernels
