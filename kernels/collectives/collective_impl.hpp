// CollectiveImpl: what all collective operators have in common, from the checks of what they are
// given to the plan of a call. A collective derives its own in COLLECTIVE/impl.hpp, with a run() of
// the arguments that its calls have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/kernels/collectives.hpp>

#include "kernels/collectives/algorithm.hpp"
#include "kernels/collectives/call.hpp"
#include "kernels/collectives/layout.hpp"
#include "kernels/core/arena.hpp"
#include "kernels/core/exchange.hpp"

namespace weft::kernels {

// How messages are cut, where they have rows.
struct RowShape {
  std::size_t hidden = 0;  // elements; 0: messages have no rows
  float epsilon = 0;
};

class CollectiveImpl {
 public:
  CollectiveImpl(Runtime& runtime, Collective what, const CollectiveProblem& problem,
                 const CollectiveOptions& options = {}, const RowShape& shape = {})
      : runtime_(&runtime), what_(what), problem_(problem), options_(options), shape_(shape) {
    limits_.symmetric = options.symmetric;
  }
  virtual ~CollectiveImpl() = default;

  // Makes it an operator by itself. Collective over the job.
  Status create(const Team& team);
  // Makes it a part of another operator, which has exchanged what PEs have to know of one another,
  // and gives it room in its own memory by bind(). `table`: of a TableFile.
  Status join(const Team& team, const Agreement& agreement, const std::vector<PlanRow>& table);
  // `workspace`: of workspace_bytes(), zeroed, at a multiple of kWorkspaceAlignment. A barrier
  // follows before any PE runs.
  Status bind(Runtime& runtime, std::byte* workspace);

  virtual Result<Plan> plan(std::size_t count) const { return plan_bytes(count); }
  std::size_t workspace_bytes() const { return rounds_bytes() + layout_.bytes; }
  std::string describe() const;

  std::string name() const { return to_string(what_); }
  DType dtype() const { return problem_.dtype; }
  std::size_t hidden() const { return shape_.hidden; }
  std::size_t members() const { return static_cast<std::size_t>(std::max(call_.team.size, 1)); }

 protected:
  // Refuses what this collective cannot do, beside what none can.
  virtual Status check_problem() const { return Status::ok(); }
  virtual Status lay_out() {
    lay_out_with(mapped_);
    return Status::ok();
  }
  void lay_out_with(bool uses_ll);
  // Kernels read the sizes of messages from memory of their GPU, each its own, and tell them to
  // their peer blocks by SimpleChannel::put_headers(). Plans are made by max_count, since that is
  // what all hosts know.
  virtual bool has_device_sizes() const { return false; }

  // Checks of a call's arguments (collective_checks.cpp).
  Status check_count(std::size_t count) const;
  Status check_address(const char* argument, const void* address) const;
  Status check_symmetric(const char* argument, const std::byte* address, std::size_t bytes) const;
  Status check_is_of_floats() const;

  // The part of a call that all collectives have. Messages are of `count` elements, several where
  // that many go in or out.
  Messages messages(void* out, const void* in, std::size_t count, bool several_in,
                    bool several_out) const;
  Result<Plan> plan_bytes(std::size_t count) const;
  const CollectiveCall& call() const { return call_; }
  bool is_by(const Plan& plan, Protocol protocol) const {
    return kernels::is_by(what_, plan.algorithm, protocol);
  }

  std::size_t row_bytes() const { return shape_.hidden * bytes_of(problem_.dtype); }
  std::size_t all(std::size_t bytes) const {
    return bytes * static_cast<std::size_t>(call_.team.size);
  }
  bool is_of_floats() const {
    return problem_.dtype != DType::kInt32 && problem_.dtype != DType::kUint8;
  }

  Runtime* const runtime_;
  const Collective what_;
  const CollectiveProblem problem_;
  const CollectiveOptions options_;
  const RowShape shape_;
  bool gpu_ = false;
  int team_size_ = 1;  // the same on all PEs of the job
  PlanLimits limits_;
  unsigned at_once_ = kMostBlocks;  // blocks that the GPU has room for
  bool clusters_ = false;           // blocks may share a row as a cluster

 private:
  Status check_options(int npes) const;
  // The checks and whatever else needs no other PE.
  Status begin(const Team& team);
  std::vector<Given> given() const;
  // From what all PEs know: the table, the channels, and where what lies in the workspace.
  Status settle(const Agreement& agreement, const std::vector<PlanRow>& table);
  void use_table(const std::vector<PlanRow>& table);
  void choose_channels(const GpuShare& gpu);
  std::size_t most_bytes() const { return problem_.max_count * bytes_of(problem_.dtype); }
  // Their part of the workspace, before what layout_ has.
  std::size_t rounds_bytes() const {
    return align_up(limits_.channels * sizeof(Rounds), kWorkspaceAlignment);
  }
  // Some call may go by Lamport.
  bool takes_lamport() const;
  bool sums_floats() const { return is_of_floats() && problem_.op == ReduceOp::kSum; }

  CollectiveCall call_;
  std::vector<PlanRow> table_;
  std::string table_name_;
  bool mapped_ = false;  // all members map all
  Layout layout_;
  OperatorMemory memory_;  // unless it is a part of another operator
};

}  // namespace weft::kernels
