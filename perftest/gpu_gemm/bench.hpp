// How products are timed: operands on the GPU, calls in CUDA graphs of some milliseconds, cuBLASLt
// beside.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <weft/kernels/gemm.hpp>
#include <weft/weft.hpp>

#include "perftest/peers/cublas_e4m3.hpp"
#include "perftest/report.hpp"
#include "perftest/status.hpp"

namespace weft::perf::gemm {

using kernels::DType;
using kernels::Gemm;
using kernels::GemmBackend;
using kernels::GemmOptions;
using kernels::GemmProblem;
using kernels::GemmScales;

// Memory of the GPU that frees itself.
struct Free {
  void operator()(void* data) const { (void)cudaFree(data); }
};
using Memory = std::unique_ptr<void, Free>;

struct Operands {
  Memory a, b, c;
  Memory scale_a, scale_b;  // of e4m3
  GemmScales scales() const {
    return {static_cast<const float*>(scale_a.get()), static_cast<const float*>(scale_b.get())};
  }
};
using Product = std::function<Status(cudaStream_t, const Operands&)>;

class Bench {
 public:
  Bench(Job& job, Reporter& out) : runtime_(job.runtime()), options_(job.options().op), out_(out) {}

  Status start();
  // A line of the plan's tile, or the one that was asked for; with --tiles one for each, too.
  Status measure(const Row& row, const Shape& shape);
  DType dtype() const;

 private:
  bool is_e4m3() const { return problem_.dtype == DType::kFloat8E4m3; }
  Status fill_operands(const Shape& s);
  Product product_of(Gemm& gemm) const;
  // The fastest of the algorithms that cuBLASLt's heuristics name.
  Status find_cublas(const Shape& s, CublasE4m3& cublas, Product* fastest);
  Status find_cublas(std::vector<Gemm>& algorithms, Product* fastest);
  Status compare(Line line, const GemmOptions& options, const Product& theirs);
  Result<double> time(const Product& product);  // us of a call

  Runtime& runtime_;
  const OperatorOptions& options_;
  Reporter& out_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  GemmProblem problem_;
  std::vector<Operands> sets_;
  int calls_ = 0;
};

}  // namespace weft::perf::gemm
