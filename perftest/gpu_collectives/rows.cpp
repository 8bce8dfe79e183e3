// The set collectives: operators of weft::kernels beside NCCL, in one process, turn by turn. A time
// is that of one call of many in a CUDA graph, the median of turns, on PE 0. Elements are bfloat16.
// The size is what an operator's count is of: the whole of an AllReduce or a Broadcast, one
// member's part of the others. Weft's buffers are symmetric memory. NCCL's time is the shorter one
// of buffers of any memory and of such in its symmetric windows, where it has them. Beside an
// AllReduceNorm its AllReduce runs, and then a kernel that adds the residual and norms; beside an
// AllToAllV, whose counts only the GPUs know, sends and receives of counts that NCCL is told.
#include <algorithm>
#include <type_traits>

#include "perftest/gpu_collectives/bench.hpp"
#include "perftest/operators/operators.hpp"

namespace weft::perf {
namespace collectives {
namespace {

template <class Op>
Status lines(Bench& bench, const Row& row) {
  const std::size_t most = range(row, bench.options()).high;
  ASSIGN_OR_RETURN(const CollectiveOptions options, bench.collective_options());
  auto made = Op::create(bench.runtime(), {most / sizeof(Bfloat16), DType::kBfloat16}, options);
  if (!made) return made.status();
  Op op = std::move(*made);
  for (const Point& point : points(row, bench.options())) {
    const std::size_t count = point.bytes / sizeof(Bfloat16);
    Facts facts{&row, "", point.bytes, op.workspace_bytes(), {}};
    ASSIGN_OR_RETURN(facts.plan, op.plan(count));
    RETURN_IF_ERROR(bench.measure(facts, [&](Stream stream) {
      if constexpr (std::is_same_v<Op, kernels::Broadcast>)
        return op(stream, bench.mine().out, bench.mine().in, count, 0);
      else
        return op(stream, bench.mine().out, bench.mine().in, count);
    }));
  }
  return bench.runtime().barrier();
}

Status lines_of(Bench& bench, const Row& row) {
  switch (collective_of(row)) {
    case Collective::kAllReduce: return lines<kernels::AllReduce>(bench, row);
    case Collective::kAllGather: return lines<kernels::AllGather>(bench, row);
    case Collective::kReduceScatter: return lines<kernels::ReduceScatter>(bench, row);
    case Collective::kAllToAll: return lines<kernels::AllToAll>(bench, row);
    case Collective::kBroadcast: return lines<kernels::Broadcast>(bench, row);
    case Collective::kAllReduceNorm: return norm_lines(bench, row);
    case Collective::kAllToAllV: return lines_by_counts(bench, row);
  }
  return Status::ok();
}

Status run(Job& job, std::span<const Row* const> rows, Reporter& out) {
  std::size_t most = 0;
  for (const Row* row : rows) most = std::max<std::size_t>(most, range(*row, job.options()).high);
  ASSIGN_OR_RETURN(Bench bench,
                   Bench::create(job, most * static_cast<std::size_t>(job.npes()), out));
  for (const Row* row : rows) {
    out.start(*row);
    RETURN_IF_ERROR(lines_of(bench, *row));
    out.finish(*row);
  }
  return Status::ok();
}

Row made(std::string_view name, std::string_view what, std::string_view formula,
         std::string_view beside, unsigned uses = 0) {
  Row row = operator_row("collectives", run, name, what, formula);
  row.kind = Kind::kBandwidth;
  row.floor = beside;
  row.uses = kUsesSize | uses;
  row.min = 8;
  row.max = 128u << 20;
  row.type = "uint16";  // as many bytes as a bfloat16
  row.gpu = true;
  return row;
}

}  // namespace

// An operator for each size, since by its largest message it goes: here what all have for all.
Status lines_by_counts(Bench& bench, const Row& row) {
  ASSIGN_OR_RETURN(const CollectiveOptions options, bench.collective_options());
  const auto n = static_cast<std::size_t>(bench.runtime().npes());
  std::uint64_t* words = nullptr;
  RETURN_IF_ERROR(of(cudaMalloc(&words, 3 * n * sizeof *words)));
  for (const Point& point : points(row, bench.options())) {
    const std::size_t count = point.bytes / sizeof(Bfloat16);
    auto made = kernels::AllToAllV::create(bench.runtime(), {count, DType::kBfloat16}, options);
    if (!made) return made.status();
    std::vector<std::uint64_t> sizes(2 * n, count);
    for (std::size_t pe = 0; pe < n; ++pe) sizes[n + pe] = pe * count;
    RETURN_IF_ERROR(
        of(cudaMemcpy(words, sizes.data(), sizes.size() * sizeof *words, cudaMemcpyHostToDevice)));
    Facts facts{&row, "", point.bytes, made->workspace_bytes(), {}};
    ASSIGN_OR_RETURN(facts.plan, made->plan(count));
    RETURN_IF_ERROR(bench.measure(facts, [&](Stream stream) {
      return (*made)(stream, bench.mine().out, bench.mine().in,
                     {words, words + n, words + n, words + 2 * n});
    }));
  }
  RETURN_IF_ERROR(of(cudaFree(words)));
  return bench.runtime().barrier();
}

}  // namespace collectives

std::vector<Row> collective_rows() {
  using collectives::made;
  constexpr std::string_view kNccl = "NCCL, on plain buffers or in its windows, the faster one";
  constexpr std::string_view kSum = "GB/s = 2 (n-1)/n * size / p50",
                             kPart = "GB/s = (n-1) * size / p50";
  return {
      made("AllReduce", "sum of size bytes over all PEs", kSum, kNccl),
      made("AllGather", "size bytes of each PE to all", kPart, kNccl),
      made("ReduceScatter", "sum of the PEs' parts, size bytes to each", kPart, kNccl),
      made("AllToAll", "size bytes of each PE to each", kPart, kNccl),
      made("AllToAllV", "the same by counts that only the GPUs know", kPart,
           "NCCL, which is told the counts"),
      made("Broadcast", "size bytes of PE 0 to all", "GB/s = size / p50", kNccl),
      made("AllReduceNorm", "an AllReduce, then residual and RMSNorm; layer: elements of a row",
           kSum, "NCCL's AllReduce, then a kernel that adds the residual and norms", kUsesLayer),
  };
}

}  // namespace weft::perf
