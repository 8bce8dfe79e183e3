// Rows of AllReduceNorm. Sizes are of whole rows only. Every PE has pe + 1 everywhere, and a
// residual of zeros.
#include <algorithm>

#include <weft/kernels/all_reduce_norm.hpp>

#include "perftest/gpu_collectives/bench.hpp"
#include "perftest/gpu_collectives/norm.hpp"

namespace weft::perf::collectives {
namespace {

using kernels::AllReduceNorm;

constexpr float kEpsilon = 1e-6f;

struct Memory {
  std::byte *residual = nullptr, *sums = nullptr, *weight = nullptr;
};

// Rows of one value are normed to ones.
Status check_norm(int n, const std::byte* normed, const std::byte* sums, std::size_t bytes) {
  std::vector<Bfloat16> out(bytes / sizeof(Bfloat16)), sum(out.size());
  RETURN_IF_ERROR(of(cudaMemcpy(out.data(), normed, bytes, cudaMemcpyDeviceToHost)));
  RETURN_IF_ERROR(of(cudaMemcpy(sum.data(), sums, bytes, cudaMemcpyDeviceToHost)));
  for (std::size_t i = 0; i < out.size(); ++i)
    if (static_cast<float>(out[i]) != 1.0f ||
        static_cast<float>(sum[i]) != static_cast<float>(n * (n + 1) / 2))
      return Status::error(Code::kInternal, "wrong data after AllReduceNorm of " +
                                                std::to_string(bytes) + " bytes, at element " +
                                                std::to_string(i));
  return Status::ok();
}

Status line_of(Bench& bench, Facts facts, AllReduceNorm& norm, const Memory& at, std::size_t rows,
               std::size_t hidden) {
  constexpr auto kWhat = Collective::kAllReduceNorm;
  const std::size_t count = rows * hidden;
  facts.bytes = count * sizeof(Bfloat16);
  ASSIGN_OR_RETURN(facts.plan, norm.plan(count));
  const int calls = Bench::calls_of(facts.bytes);
  const std::string name = Bench::name_of(facts);
  const Buffers& mine = bench.mine();
  ASSIGN_OR_RETURN(const Graph weft,
                   Graph::capture("Weft's " + name, bench.stream(), calls, [&](Stream stream) {
                     return norm(stream, mine.out, at.sums, mine.in, at.residual, at.weight, rows);
                   }));
  const auto theirs_in_turn = [&](Stream stream, const Buffers& buffers) -> Status {
    RETURN_IF_ERROR(bench.nccl().call(Collective::kAllReduce, stream, buffers, count));
    return add_and_norm(stream, buffers.out, at.sums, buffers.out, at.residual, at.weight, rows,
                        hidden, kEpsilon);
  };
  ASSIGN_OR_RETURN(const std::vector<Graph> theirs,
                   bench.graphs_of_nccl(kWhat, name, calls, theirs_in_turn));
  const auto is_right = [&](const Graph& way, const std::byte* out) -> Status {
    RETURN_IF_ERROR(of(cudaMemset(mine.out, 0xff, facts.bytes)));
    RETURN_IF_ERROR(bench.time(way).status());
    return check_norm(bench.runtime().npes(), out, at.sums, facts.bytes);
  };
  RETURN_IF_ERROR(is_right(weft, mine.out));
  for (std::size_t i = 0; i < theirs.size(); ++i)
    RETURN_IF_ERROR(is_right(theirs[i], bench.of_nccl(kWhat)[i].out));
  return bench.time_line(facts, calls, weft, theirs);
}

Status lines_of(Bench& bench, const Row& row, std::size_t hidden) {
  const auto [from, to] = range(row, bench.options());
  const std::size_t row_bytes = hidden * sizeof(Bfloat16);
  ASSIGN_OR_RETURN(const CollectiveOptions options, bench.collective_options());
  CollectiveOptions anywhere = options;  // an AllReduceNorm has no buffers of its own
  anywhere.symmetric = CollectiveOptions().symmetric;
  ASSIGN_OR_RETURN(auto norm, AllReduceNorm::create(bench.runtime(),
                                                    {std::max<std::size_t>(to / row_bytes, 1),
                                                     hidden, DType::kBfloat16, kEpsilon},
                                                    anywhere));
  Memory at;
  for (std::byte** const memory : {&at.residual, &at.sums, &at.weight}) {
    RETURN_IF_ERROR(of(cudaMalloc(memory, std::max<std::size_t>(to, row_bytes))));
    RETURN_IF_ERROR(of(cudaMemset(*memory, 0, std::max<std::size_t>(to, row_bytes))));
  }
  const std::vector<Bfloat16> ones(hidden, Bfloat16(1.0f));
  RETURN_IF_ERROR(of(cudaMemcpy(at.weight, ones.data(), row_bytes, cudaMemcpyHostToDevice)));
  const Facts facts{&row, "hidden " + std::to_string(hidden), 0, norm.workspace_bytes(), {}};
  for (std::size_t rows = 1; rows * row_bytes <= to; rows *= 2)
    if (rows * row_bytes >= from) RETURN_IF_ERROR(line_of(bench, facts, norm, at, rows, hidden));
  for (std::byte* const memory : {at.residual, at.sums, at.weight})
    RETURN_IF_ERROR(of(cudaFree(memory)));
  return bench.runtime().barrier();
}

}  // namespace

Status norm_lines(Bench& bench, const Row& row) {
  const std::size_t only = bench.options().op.hidden;
  for (const std::size_t hidden : {std::size_t{5120}, std::size_t{8192}})
    if (only == 0) RETURN_IF_ERROR(lines_of(bench, row, hidden));
  return only == 0 ? Status::ok() : lines_of(bench, row, only);
}

}  // namespace weft::perf::collectives
