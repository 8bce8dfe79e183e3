// The tools that measure the set fused: operands on the GPU, calls in CUDA graphs,
// NCCL and cuBLASLt beside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <weft/kernels/gemm.hpp>
#include <weft/weft.hpp>

#include "perftest/gpu_fused/exact.hpp"
#include "perftest/gpu_collectives/nccl.hpp"
#include "perftest/report.hpp"
#include "perftest/status.hpp"

namespace weft::perf::fused {

using collectives::Nccl;
using weft::kernels::Gemm;
using weft::kernels::GemmProblem;

// The shape of a whole problem: each row says what is sharded.
struct Shape {
  const char* name;
  int m, n, k;
};

Status of(cudaError_t error);
Status of_nccl(int result);

using Call = std::function<Status(Stream)>;

// The buffers that a collective of NCCL's takes and gives.
struct Buffers {
  std::uint16_t *in = nullptr, *out = nullptr;
};
using NcclCall = std::function<Status(Stream, const Buffers&)>;

// The calls that are timed of one shape, and what has to be the same then. Some may be null:
// baselines that are not compared with, and in_turn.
struct Calls {
  Call fused, alone, in_turn;          // Weft's: all, the product, one after the other
  Call cublas, nccl, both;             // theirs: the product, what moves, one after the other
  const std::uint16_t *c, *reference;  // of fused, of both
  std::size_t count;
  float absolute_error;  // beside 2^-7 of an element
  std::string plan;
  // The exact sums of elements of c. Collective, as many on all; empty where nothing is added up.
  std::function<Result<std::vector<Exact>>(const std::vector<std::size_t>&)> exact;
};

// Elements of bfloat16 on the GPU, random normal ones.
struct Free {
  void operator()(std::uint16_t* data) const { (void)cudaFree(data); }
};
using Memory = std::unique_ptr<std::uint16_t, Free>;

class Bench {
 public:
  static Result<Bench> create(Job& job, Reporter& out);

  Runtime& rt() const { return *rt_; }
  const OperatorOptions& options() const { return *options_; }
  const std::optional<Nccl>& nccl() const { return nccl_; }

  Result<Memory> random(std::size_t count, unsigned seed) const;
  // The fastest of cuBLASLt's algorithms for the problem; none if it is no baseline.
  Result<std::optional<Gemm>> fastest_cublas(const GemmProblem& problem, std::uint16_t* c,
                                             const std::uint16_t* a, const std::uint16_t* b) const;
  // The buffers on which NCCL's call is faster: plain ones, or its symmetric windows, whose `in`
  // has the `count` elements of plain's then. Collective.
  Result<Buffers> fastest_for_nccl(const Buffers& plain, std::size_t count,
                                   const NcclCall& call) const;
  // Times, compares and reports a line. Collective.
  Status measure(const Row& row, const Shape& shape, const Calls& calls) const;
  // The same for each of the shapes, or of those that were asked for; moved(shape): elements that
  // NCCL takes or gives at most.
  Status measure_all(const Row& row, const std::vector<Shape>& shapes,
                     const std::function<std::size_t(const Shape&)>& moved,
                     const std::function<Status(const Shape&)>& line);

 private:
  Bench(Job& job, Reporter& out) : rt_(&job.runtime()), options_(&job.options().op), out_(&out) {}
  Result<double> time_once(const Call& call, int count) const;
  Status make_windows(std::size_t count);
  // ns of one call of each, turn by turn, the slowest PE's. Some may be null: no samples.
  Result<std::vector<Summary>> time(const std::vector<Call>& calls) const;
  // An error if c and reference are too far apart. Both round, and not alike: where rounding alone
  // may be why, as for an element in tens of millions, what is exact decides, and of some others,
  // too. Collective.
  Status check(const Shape& shape, const Calls& calls) const;

  Runtime* rt_;
  const OperatorOptions* options_;
  Reporter* out_;
  Stream stream_ = nullptr;
  std::optional<Nccl> nccl_;
  Buffers windows_;
  std::size_t window_count_ = 0;
};

// An operator's options as they were asked for.
template <class Options>
Options options_of(const OperatorOptions& given) {
  Options options;
  using Algorithm = decltype(options.algorithm);
  options.gemm.tile = given.tile;
  if (given.algorithm == "overlapped") options.algorithm = Algorithm::kOverlapped;
  if (given.algorithm == "sequential") options.algorithm = Algorithm::kSequential;
  if constexpr (requires { Algorithm::kOneKernel; })
    if (given.algorithm == "one-kernel") options.algorithm = Algorithm::kOneKernel;
  return options;
}

Status ag_lines(Bench& bench, const Row& row);
Status rs_lines(Bench& bench, const Row& row);
Status ar_lines(Bench& bench, const Row& row);

}  // namespace weft::perf::fused
