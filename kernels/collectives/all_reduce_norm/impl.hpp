#pragma once

#include "kernels/collectives/all_reduce_norm/call.hpp"
#include "kernels/collectives/collective_impl.hpp"

namespace weft::kernels {

struct NormBuffers {
  void *out, *residual_out;
  const void *in, *residual, *weight;
};

class NormImpl : public CollectiveImpl {
 public:
  NormImpl(Runtime& runtime, const CollectiveProblem& problem, const CollectiveOptions& options,
           const RowShape& shape)
      : CollectiveImpl(runtime, Collective::kAllReduceNorm, problem, options, shape) {}
  Status run(Stream stream, const NormBuffers& buffers, std::size_t rows) const;
  Result<Plan> plan(std::size_t count) const override;

 private:
  Status check_problem() const override { return check_is_of_floats(); }
  Status check_buffers(const NormBuffers& buffers, std::size_t count) const;
  // `split` blocks share a row.
  struct RowPlan {
    Plan plan;
    unsigned split;
  };
  RowPlan plan_rows(Plan made, std::size_t rows) const;
  unsigned split(std::size_t rows) const;
  // The blocks of a call by LL, which wait for one another.
  unsigned blocks_of_rows() const { return std::min(limits_.channels, at_once_); }
};

}  // namespace weft::kernels
