// Rows of AgGemm. M is of all PEs together, N of one.
#include <algorithm>
#include <cstdio>

#include <weft/kernels/ag_gemm.hpp>

#include "perftest/gpu_fused/bench.hpp"

namespace weft::perf::fused {
namespace {

using weft::kernels::AgGemm;
using weft::kernels::AgGemmAlgorithm;
using weft::kernels::AgGemmOptions;

// Layers of models whose weights are shared by 8 (docs/design/fused.md), then few rows.
const std::vector<Shape> kShapes = {
    {"Qwen3-32B mlp", 2048, 6400, 5120}, {"Qwen3-32B mlp", 4096, 6400, 5120},
    {"Qwen3-32B mlp", 8192, 6400, 5120}, {"Qwen3-32B qkv", 4096, 1280, 5120},
    {"LLaMA-3.1-70B", 8192, 3584, 8192}, {"Qwen2-72B", 8192, 3696, 8192},
    {"LLaMA-7B", 8192, 1376, 4096},      {"LLaMA-3.1-8B", 8192, 1792, 4096},
    {"GPT-3-175B", 8192, 6144, 12288},   {"LLaMA-3.1-405B", 8192, 6656, 16384},
    {"Qwen3-32B mlp", 16, 6400, 5120},   {"Qwen3-32B mlp", 64, 6400, 5120},
    {"Qwen3-32B mlp", 256, 6400, 5120},  {"Qwen3-32B mlp", 512, 6400, 5120},
    {"Qwen3-32B mlp", 1024, 6400, 5120}};

Status row(const Bench& bench, const Shape& shape, const AgGemmOptions& options) {
  Runtime& rt = bench.rt();
  const auto npes = static_cast<std::size_t>(rt.npes()), m = static_cast<std::size_t>(shape.m);
  const auto n = static_cast<std::size_t>(shape.n), k = static_cast<std::size_t>(shape.k);
  const auto seed = static_cast<unsigned>(rt.pe());
  Memory a, b, c, all, reference;
  ASSIGN_OR_RETURN(a, bench.random(m / npes * k, 2 * seed));
  ASSIGN_OR_RETURN(b, bench.random(n * k, 2 * seed + 1));
  ASSIGN_OR_RETURN(c, bench.random(m * n, 100));
  ASSIGN_OR_RETURN(all, bench.random(m * k, 101));
  ASSIGN_OR_RETURN(reference, bench.random(m * n, 102));

  GemmProblem mine{shape.m / rt.npes(), shape.n, shape.k}, whole{shape.m, shape.n, shape.k};
  auto made = AgGemm::create(rt, mine, options);
  if (!made) return made.status();
  AgGemm fused = std::move(*made);
  auto product = Gemm::create(rt, whole);
  if (!product) return product.status();
  auto cublas = bench.fastest_cublas(whole, reference.get(), all.get(), b.get());
  if (!cublas) return cublas.status();

  const Call gather = [&](Stream stream) {
    const Nccl& nccl = *bench.nccl();
    const int result = nccl.all_gather(a.get(), all.get(), m / npes * k, Nccl::kBfloat16, nccl.comm,
                                       static_cast<cudaStream_t>(stream));
    if (result == 0) return Status::ok();
    return Status::error(Code::kInternal, "NCCL failed with " + std::to_string(result));
  };
  const Call multiply = [&](Stream stream) {
    return (*cublas)(stream, reference.get(), all.get(), b.get());
  };
  const Call both = [&](Stream stream) {
    RETURN_IF_ERROR(gather(stream));
    return multiply(stream);
  };
  const Call ours_alone = [&](Stream stream) {
    return (*product)(stream, c.get(), all.get(), b.get());
  };
  const Call ours = [&](Stream stream) { return fused(stream, c.get(), a.get(), b.get()); };
  const bool has_nccl = bench.nccl().has_value();
  std::vector<double> us;
  ASSIGN_OR_RETURN(us, bench.time({ours, has_nccl ? both : Call(), ours_alone, multiply,
                                   has_nccl ? gather : Call()}));
  if (has_nccl) {
    RETURN_IF_ERROR(both(bench.stream()));
    RETURN_IF_ERROR(ours(bench.stream()));
    RETURN_IF_ERROR(bench.expect_same(shape, c.get(), reference.get(), m * n, 0x1p-7f, 1e-2f));
  }
  const double gemm = std::min(us[2], us[3]);
  char line[512];
  std::snprintf(line, sizeof line,
                "%-15s %6d %6d %6d | %8.1f %8.1f %8.1f %8.1f | %8.1f | %6.3f %6.3f | %s",
                shape.name, shape.m, shape.n, shape.k, us[2], us[3], us[4], us[1], us[0],
                us[1] / us[0], std::max(gemm, us[4]) / us[0], fused.describe().c_str());
  bench.print(line);
  return rt.health();
}

}  // namespace

Status ag_rows(const Bench& bench) {
  const Settings& settings = bench.settings();
  AgGemmOptions options;
  options.push_blocks = settings.blocks;
  options.gemm.tile = settings.tile;
  if (settings.algorithm == "overlapped") options.algorithm = AgGemmAlgorithm::kOverlapped;
  if (settings.algorithm == "sequential") options.algorithm = AgGemmAlgorithm::kSequential;
  bench.print(
      "AgGemm, us              M      N      K |  Gemm alone cuBLASLt NCCL, both after another | "
      "fused | speedup, efficiency | plan");
  for (const Shape& shape : settings.shapes.empty() ? kShapes : settings.shapes)
    RETURN_IF_ERROR(row(bench, shape, options));
  return bench.rt().barrier();
}

}  // namespace weft::perf::fused
