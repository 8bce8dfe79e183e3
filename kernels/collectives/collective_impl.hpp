// What a collective operator is made of: the workspace, and a call of the target's kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <weft/kernels/collectives.hpp>

#include "kernels/collectives/call.hpp"
#include "kernels/core/memory.hpp"

namespace weft::kernels {

class CollectiveImpl {
 public:
  static Result<std::unique_ptr<CollectiveImpl>> create(Runtime& runtime, const Team& team,
                                                        Collective what,
                                                        const CollectiveProblem& problem,
                                                        const CollectiveOptions& options);

  // `root`: broadcasts only.
  Status run(Stream stream, void* out, const void* in, std::size_t count, int root = 0) const;
  Status run(Stream stream, void* out, const void* in, const AllToAllVSizes& sizes) const;
  Result<Plan> plan(std::size_t count) const;
  std::size_t workspace_bytes() const;

 private:
  CollectiveImpl(Collective what, const CollectiveProblem& problem,
                 const CollectiveOptions& options)
      : what_(what), problem_(problem), options_(options) {}

  Status check_problem(int npes) const;
  Status check_call(const void* out, const void* in, std::size_t count, int root) const;
  Status check_sizes(const AllToAllVSizes& sizes) const;
  Status choose_kernels(const Runtime& runtime);
  Status agree(Runtime& runtime);
  Status make_workspace(Runtime& runtime);
  Messages messages(void* out, const void* in, std::size_t count) const;
  std::string name() const { return to_string(what_); }
  bool reduces() const {
    return what_ == Collective::kAllReduce || what_ == Collective::kReduceScatter;
  }

  const Collective what_;
  const CollectiveProblem problem_;
  const CollectiveOptions options_;
  Call call_;
  bool gpu_ = false;
  int team_size_ = 1;    // the same on all PEs of the job
  bool mapped_ = false;  // all members map all
  PlanLimits limits_;
  RunCall* run_call_ = nullptr;
  SymmetricMemory rounds_, rest_;
};

}  // namespace weft::kernels
