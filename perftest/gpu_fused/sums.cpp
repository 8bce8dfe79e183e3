// Rows of GemmRs and GemmAr. M is of all PEs together, K of one.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <weft/kernels/gemm_ar.hpp>
#include <weft/kernels/gemm_rs.hpp>

#include "perftest/gpu_fused/bench.hpp"

namespace weft::perf::fused {
namespace {

// Layers of models whose weights are shared by 8 (docs/design/fused.md), then few rows.
const std::vector<Shape> kScatterShapes = {
    {"Qwen3-32B mlp", 2048, 5120, 3200}, {"Qwen3-32B mlp", 4096, 5120, 3200},
    {"Qwen3-32B mlp", 8192, 5120, 3200}, {"Qwen3-32B o", 4096, 5120, 1024},
    {"LLaMA-3.1-70B", 8192, 8192, 3584}, {"Qwen2-72B", 8192, 8192, 3696},
    {"LLaMA-7B", 8192, 4096, 1376},      {"LLaMA-3.1-8B", 8192, 4096, 1792},
    {"GPT-3-175B", 8192, 12288, 6144},   {"LLaMA-3.1-405B", 8192, 16384, 6656},
    {"Qwen3-32B mlp", 16, 5120, 3200},   {"Qwen3-32B mlp", 64, 5120, 3200},
    {"Qwen3-32B mlp", 256, 5120, 3200},  {"Qwen3-32B mlp", 512, 5120, 3200},
    {"Qwen3-32B mlp", 1024, 5120, 3200}, {"Qwen3-32B o", 256, 5120, 1024},
    {"Qwen3-32B o", 1024, 5120, 1024}};
const std::vector<Shape> kReduceShapes = {{"Qwen3-32B down", 1, 5120, 3200},
                                          {"Qwen3-32B o", 1, 5120, 1024},
                                          {"Qwen3-32B down", 8, 5120, 3200},
                                          {"Qwen3-32B o", 8, 5120, 1024},
                                          {"Qwen3-32B down", 16, 5120, 3200},
                                          {"Qwen3-32B o", 16, 5120, 1024},
                                          {"Qwen3-32B down", 32, 5120, 3200},
                                          {"Qwen3-32B o", 32, 5120, 1024},
                                          {"Qwen3-32B down", 64, 5120, 3200},
                                          {"Qwen3-32B o", 64, 5120, 1024},
                                          {"Qwen3-32B down", 128, 5120, 3200},
                                          {"Qwen3-32B o", 128, 5120, 1024},
                                          {"Qwen3-32B down", 256, 5120, 3200},
                                          {"Qwen3-32B o", 256, 5120, 1024},
                                          {"Qwen3-32B down", 512, 5120, 3200},
                                          {"Qwen3-32B o", 512, 5120, 1024},
                                          {"Qwen3-32B down", 1024, 5120, 3200},
                                          {"Qwen3-32B o", 1024, 5120, 1024},
                                          {"Qwen3-32B down", 2048, 5120, 3200},
                                          {"Qwen3-32B o", 2048, 5120, 1024},
                                          {"Qwen3-32B down", 4096, 5120, 3200},
                                          {"Qwen3-32B o", 4096, 5120, 1024},
                                          {"doc", 28000, 7168, 512}};

struct Scatter {
  using Operator = weft::kernels::GemmRs;
  using Options = weft::kernels::GemmRsOptions;
  using Algorithm = weft::kernels::GemmRsAlgorithm;
  static constexpr const char* kTitle = "GemmRs";
  static std::size_t rows(std::size_t m, std::size_t npes) { return m / npes; }
  static int sum(const Nccl& nccl, const void* from, void* to, std::size_t count,
                 cudaStream_t stream) {
    return nccl.reduce_scatter(from, to, count, Nccl::kBfloat16, Nccl::kSum, nccl.comm, stream);
  }
};
struct Reduce {
  using Operator = weft::kernels::GemmAr;
  using Options = weft::kernels::GemmArOptions;
  using Algorithm = weft::kernels::GemmArAlgorithm;
  static constexpr const char* kTitle = "GemmAr";
  static std::size_t rows(std::size_t m, std::size_t) { return m; }
  static int sum(const Nccl& nccl, const void* from, void* to, std::size_t count,
                 cudaStream_t stream) {
    return nccl.all_reduce(from, to, count, Nccl::kBfloat16, Nccl::kSum, nccl.comm, stream);
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
Status row(const Bench& bench, const Shape& shape, const typename Kind::Options& options) {
  Runtime& rt = bench.rt();
  const auto npes = static_cast<std::size_t>(rt.npes()), m = static_cast<std::size_t>(shape.m);
  const auto n = static_cast<std::size_t>(shape.n), k = static_cast<std::size_t>(shape.k);
  const auto seed = static_cast<unsigned>(rt.pe());
  const std::size_t count = Kind::rows(m, npes) * n;
  Memory a, c, all, reference;
  ASSIGN_OR_RETURN(a, bench.random(m * k, 2 * seed));
  Weights b;
  ASSIGN_OR_RETURN(b, Weights::create(bench, n * k, 2 * seed + 1));
  ASSIGN_OR_RETURN(c, bench.random(count, 100));
  ASSIGN_OR_RETURN(all, bench.random(m * n, 101));
  ASSIGN_OR_RETURN(reference, bench.random(count, 102));

  const GemmProblem problem{shape.m, shape.n, shape.k};
  auto fused = Kind::Operator::create(rt, problem, options);
  if (!fused) return fused.status();
  typename Kind::Options in_turn;
  in_turn.algorithm = Kind::Algorithm::kSequential;
  auto other = Kind::Operator::create(rt, problem, in_turn);
  if (!other) return other.status();
  auto product = Gemm::create(rt, problem);
  if (!product) return product.status();
  auto cublas = bench.fastest_cublas(problem, all.get(), a.get(), b.next());
  if (!cublas) return cublas.status();

  const Call sum = [&](Stream stream) {
    const int result = Kind::sum(*bench.nccl(), all.get(), reference.get(), count,
                                 static_cast<cudaStream_t>(stream));
    if (result == 0) return Status::ok();
    return Status::error(Code::kInternal, "NCCL failed with " + std::to_string(result));
  };
  const Call multiply = [&](Stream stream) {
    return (*cublas)(stream, all.get(), a.get(), b.next());
  };
  const Call both = [&](Stream stream) {
    RETURN_IF_ERROR(multiply(stream));
    return sum(stream);
  };
  const Call ours_alone = [&](Stream stream) {
    return (*product)(stream, all.get(), a.get(), b.next());
  };
  const Call ours = [&](Stream stream) { return (*fused)(stream, c.get(), a.get(), b.next()); };
  const Call ours_in_turn = [&](Stream stream) {
    return (*other)(stream, c.get(), a.get(), b.next());
  };
  const bool has_nccl = bench.nccl().has_value();
  std::vector<double> us;
  ASSIGN_OR_RETURN(us, bench.time({ours, has_nccl ? both : Call(), ours_alone, multiply,
                                   has_nccl ? sum : Call(), ours_in_turn}));
  if (has_nccl) {
    RETURN_IF_ERROR(both(bench.stream()));
    RETURN_IF_ERROR(ours(bench.stream()));
    // Products that are rounded may cancel each other.
    const auto absolute = static_cast<float>(0x1p-6 * std::sqrt(static_cast<double>(k)));
    RETURN_IF_ERROR(bench.expect_same(shape, c.get(), reference.get(), count, 0x1p-7f, absolute));
  }
  const double gemm = std::min(us[2], us[3]);
  char line[512];
  std::snprintf(line, sizeof line,
                "%-15s %6d %6d %6d | %8.1f %8.1f %8.1f %8.1f | %8.1f %8.1f | %6.3f %6.3f | %s",
                shape.name, shape.m, shape.n, shape.k, us[2], us[3], us[4], us[1], us[5], us[0],
                us[1] / us[0], std::max(gemm, us[4]) / us[0], fused->describe().c_str());
  bench.print(line);
  return rt.health();
}

template <class Kind>
Status rows(const Bench& bench, const std::vector<Shape>& shapes) {
  const Settings& settings = bench.settings();
  typename Kind::Options options;
  options.gemm.tile = settings.tile;
  if (settings.algorithm == "overlapped") options.algorithm = Kind::Algorithm::kOverlapped;
  if (settings.algorithm == "sequential") options.algorithm = Kind::Algorithm::kSequential;
  bench.print(std::string(Kind::kTitle) +
              ", us              M      N      K |  Gemm alone cuBLASLt NCCL, both after another | "
              "Weft's in turn, fused | speedup, efficiency | plan");
  for (const Shape& shape : settings.shapes.empty() ? shapes : settings.shapes)
    RETURN_IF_ERROR(row<Kind>(bench, shape, options));
  return bench.rt().barrier();
}

}  // namespace

Status rs_rows(const Bench& bench) { return rows<Scatter>(bench, kScatterShapes); }
Status ar_rows(const Bench& bench) { return rows<Reduce>(bench, kReduceShapes); }

}  // namespace weft::perf::fused
