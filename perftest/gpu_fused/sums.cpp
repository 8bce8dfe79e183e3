// Rows of GemmRs and GemmAr. M is of all PEs together, K of one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <weft/kernels/gemm_ar.hpp>
#include <weft/kernels/gemm_rs.hpp>

#include "perftest/gpu_fused/bench.hpp"

namespace weft::perf::fused {
namespace {

// Layers of models whose weights are shared by 8
// (docs/measurements/2026-11-26-gemm-reduce-scatter.md), then few rows.
const std::vector<Shape> kScatterShapes = {
    {"Qwen3-32B mlp", 2048, 5120, 3200}, {"Qwen3-32B mlp", 4096, 5120, 3200},
    {"Qwen3-32B mlp", 8192, 5120, 3200}, {"Qwen3-32B o", 4096, 5120, 1024},
    {"LLaMA-3.1-70B", 8192, 8192, 3584}, {"Qwen2-72B", 8192, 8192, 3696},
    {"LLaMA-7B", 8192, 4096, 1376},      {"LLaMA-3.1-8B", 8192, 4096, 1792},
    {"GPT-3-175B", 8192, 12288, 6144},   {"LLaMA-3.1-405B", 8192, 16384, 6656},
    {"Qwen3-32B mlp", 1, 5120, 3200},    {"Qwen3-32B mlp", 8, 5120, 3200},
    {"Qwen3-32B mlp", 16, 5120, 3200},   {"Qwen3-32B mlp", 32, 5120, 3200},
    {"Qwen3-32B mlp", 64, 5120, 3200},   {"Qwen3-32B mlp", 128, 5120, 3200},
    {"Qwen3-32B mlp", 256, 5120, 3200},  {"Qwen3-32B mlp", 512, 5120, 3200},
    {"Qwen3-32B mlp", 1024, 5120, 3200}, {"Qwen3-32B o", 1, 5120, 1024},
    {"Qwen3-32B o", 8, 5120, 1024},      {"Qwen3-32B o", 16, 5120, 1024},
    {"Qwen3-32B o", 32, 5120, 1024},     {"Qwen3-32B o", 64, 5120, 1024},
    {"Qwen3-32B o", 128, 5120, 1024},    {"Qwen3-32B o", 256, 5120, 1024},
    {"Qwen3-32B o", 1024, 5120, 1024}};
std::vector<Shape> reduce_shapes() {
  std::vector<Shape> shapes;
  for (const int m : {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}) {
    shapes.push_back({"Qwen3-32B down", m, 5120, 3200});
    shapes.push_back({"Qwen3-32B o", m, 5120, 1024});
  }
  shapes.push_back({"doc", 28000, 7168, 512});
  return shapes;
}

struct Scatter {
  using Operator = weft::kernels::GemmRs;
  using Options = weft::kernels::GemmRsOptions;
  // NCCL's shares are equal: of rows that npes does not divide the last ones' end is nobody's.
  static std::size_t rows(std::size_t m, std::size_t npes) { return (m + npes - 1) / npes; }
  static std::size_t sent_rows(std::size_t m, std::size_t npes) { return npes * rows(m, npes); }
  static std::int64_t rows_of(const Operator& op, std::int64_t m) { return op.rows(m); }
  static std::size_t first_row(std::size_t each, int pe) {
    return static_cast<std::size_t>(pe) * each;
  }
  static int sum(const Nccl& nccl, const Buffers& at, std::size_t count, cudaStream_t stream) {
    return nccl.reduce_scatter(at.in, at.out, count, Nccl::kBfloat16, Nccl::kSum, nccl.comm,
                               stream);
  }
};
struct Reduce {
  using Operator = weft::kernels::GemmAr;
  using Options = weft::kernels::GemmArOptions;
  static std::size_t rows(std::size_t m, std::size_t) { return m; }
  static std::size_t sent_rows(std::size_t m, std::size_t) { return m; }
  static std::int64_t rows_of(const Operator&, std::int64_t m) { return m; }
  static std::size_t first_row(std::size_t, int) { return 0; }
  static int sum(const Nccl& nccl, const Buffers& at, std::size_t count, cudaStream_t stream) {
    return nccl.all_reduce(at.in, at.out, count, Nccl::kBfloat16, Nccl::kSum, nccl.comm, stream);
  }
};

// A weight is one of several alike, taken in turns, as it is one of many layers': of few rows what
// it takes to read it is most of the time.
class Weights {
 public:
  static Result<Weights> create(const Bench& bench, std::size_t count, unsigned seed) {
    constexpr std::size_t kCacheBytes = std::size_t{100} << 20;
    Weights made;
    for (std::size_t bytes = 0; bytes < kCacheBytes; bytes += 2 * count) {
      Memory one;
      ASSIGN_OR_RETURN(one, bench.random(count, seed));
      made.all_.push_back(std::move(one));
    }
    return Result<Weights>(std::move(made));
  }
  const std::uint16_t* next() { return all_[turn_++ % all_.size()].get(); }

 private:
  std::vector<Memory> all_;
  std::size_t turn_ = 0;
};

template <class Kind>
Status measure(const Bench& bench, const Row& row, const Shape& shape) {
  Runtime& rt = bench.rt();
  const auto npes = static_cast<std::size_t>(rt.npes()), m = static_cast<std::size_t>(shape.m);
  const auto n = static_cast<std::size_t>(shape.n), k = static_cast<std::size_t>(shape.k);
  const auto seed = static_cast<unsigned>(rt.pe());
  const std::size_t count = Kind::rows(m, npes) * n, sent = Kind::sent_rows(m, npes) * n;
  Memory a, c, all, reference;
  ASSIGN_OR_RETURN(a, bench.random(m * k, 2 * seed));
  Weights b;
  ASSIGN_OR_RETURN(b, Weights::create(bench, n * k, 2 * seed + 1));
  ASSIGN_OR_RETURN(c, bench.random(count, 100));
  ASSIGN_OR_RETURN(all, bench.random(sent, 101));
  ASSIGN_OR_RETURN(reference, bench.random(count, 102));

  const GemmProblem problem{shape.m, shape.n, shape.k};
  using Options = typename Kind::Options;
  auto fused = Kind::Operator::create(rt, problem, options_of<Options>(bench.options()));
  if (!fused) return fused.status();
  Options sequential;
  sequential.algorithm = decltype(sequential.algorithm)::kSequential;
  auto in_turn = Kind::Operator::create(rt, problem, sequential);
  if (!in_turn) return in_turn.status();
  auto product = Gemm::create(rt, problem);
  if (!product) return product.status();
  auto cublas = bench.fastest_cublas(problem, all.get(), a.get(), b.next());
  if (!cublas) return cublas.status();

  Calls calls{};
  const auto sum = [&](Stream stream, const Buffers& at) {
    return of_nccl(Kind::sum(*bench.nccl(), at, count, static_cast<cudaStream_t>(stream)));
  };
  Buffers at;
  ASSIGN_OR_RETURN(at, bench.fastest_for_nccl({all.get(), reference.get()}, sent, sum));
  if (bench.nccl()) calls.nccl = [&](Stream stream) { return sum(stream, at); };
  if (*cublas)
    calls.cublas = [&](Stream stream) { return (**cublas)(stream, at.in, a.get(), b.next()); };
  if (calls.nccl && calls.cublas)
    calls.both = [&](Stream stream) {
      RETURN_IF_ERROR(calls.cublas(stream));
      return calls.nccl(stream);
    };
  calls.alone = [&](Stream stream) { return (*product)(stream, all.get(), a.get(), b.next()); };
  calls.fused = [&](Stream stream) { return (*fused)(stream, c.get(), a.get(), b.next()); };
  calls.in_turn = [&](Stream stream) { return (*in_turn)(stream, c.get(), a.get(), b.next()); };
  calls.c = c.get();
  calls.reference = at.out;
  calls.count = static_cast<std::size_t>(Kind::rows_of(*fused, shape.m)) * n;
  // Products that are rounded may cancel each other, and NCCL rounds each of its sums.
  calls.absolute_error = static_cast<float>(0x1p-6 * std::sqrt(static_cast<double>(k)) *
                                            std::max(1.0, static_cast<double>(npes) - 1));
  calls.exact = [&](const std::vector<std::size_t>& indices) {
    const std::size_t first = Kind::first_row(Kind::rows(m, npes), rt.pe());
    std::vector<Element> elements;
    for (const std::size_t i : indices)  // the last PEs may have none of few rows
      elements.push_back({std::min(first + i / n, m - 1), i % n});
    return exact_sums(rt, {a.get(), b.next(), k}, elements);
  };
  calls.plan = fused->describe();
  return bench.measure(row, shape, calls);
}

template <class Kind>
Status lines(Bench& bench, const Row& row, const std::vector<Shape>& shapes) {
  const auto npes = static_cast<std::size_t>(bench.rt().npes());
  return bench.measure_all(
      row, shapes,
      [&](const Shape& s) {
        return Kind::sent_rows(static_cast<std::size_t>(s.m), npes) * static_cast<std::size_t>(s.n);
      },
      [&](const Shape& shape) { return measure<Kind>(bench, row, shape); });
}

}  // namespace

Status rs_lines(Bench& bench, const Row& row) { return lines<Scatter>(bench, row, kScatterShapes); }
Status ar_lines(Bench& bench, const Row& row) { return lines<Reduce>(bench, row, reduce_shapes()); }

}  // namespace weft::perf::fused
