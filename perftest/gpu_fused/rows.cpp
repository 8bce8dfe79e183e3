// The set fused: operators that move rows beside a matrix product, beside cuBLASLt and NCCL one
// after the other.
//
// Elements are bfloat16, random normal numbers. A time is that of one call of many in a CUDA graph,
// the median of turns, on the slowest PE; what is compared takes turns. Data is checked against
// cuBLASLt and then NCCL, and some elements of sums against what they are in double: those too far
// apart, since both round. Speedup: the time of cuBLASLt after NCCL over the operator's: the
// fastest of cuBLASLt's algorithms, and NCCL on plain buffers or in its symmetric windows, where it
// is faster, in one graph. Efficiency: the larger of product (the faster one) and NCCL alone, over
// the operator's.
#include <array>

#include "perftest/gpu_fused/bench.hpp"
#include "perftest/operators/operators.hpp"

namespace weft::perf {
namespace fused {
namespace {

struct Measured {
  std::string_view row;
  Status (*lines)(Bench& bench, const Row& row);
};
constexpr Measured kMeasured[] = {{"AgGemm", ag_lines}, {"GemmRs", rs_lines}, {"GemmAr", ar_lines}};

Status algorithm_is_known(const OperatorOptions& options) {
  for (const std::string_view name : {"", "overlapped", "sequential", "one-kernel"})
    if (options.algorithm == name) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       "--algorithm: fused operators have none named " + options.algorithm);
}

Status run(Job& job, std::span<const Row* const> rows, Reporter& out) {
  RETURN_IF_ERROR(algorithm_is_known(job.options().op));
  ASSIGN_OR_RETURN(Bench bench, Bench::create(job, out));
  for (const Row* row : rows)
    for (const Measured& one : kMeasured)
      if (row->name == one.row) RETURN_IF_ERROR(one.lines(bench, *row));
  return Status::ok();
}

Row made(std::string_view name, std::string_view what) {
  Row row = operator_row("fused", run, name, what,
                         "efficiency = max(min(Gemm alone, cuBLASLt), NCCL) / p50");
  row.floor = "cuBLASLt and NCCL one after the other";
  row.uses = kUsesLayer | kUsesShape;
  row.gpu = true;
  return row;
}

}  // namespace
}  // namespace fused

std::vector<Row> fused_rows() {
  using fused::made;
  return {made("AgGemm", "AllGather of A beside the product; M of all PEs, N of one"),
          made("GemmRs", "product beside a ReduceScatter; M of all PEs, K of one"),
          made("GemmAr", "product beside an AllReduce; M of all PEs, K of one")};
}

}  // namespace weft::perf
