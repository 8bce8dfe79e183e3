// Rows of AgGemm. M is of all PEs together, N of one.
#include <vector>

#include <weft/kernels/ag_gemm.hpp>

#include "perftest/gpu_fused/bench.hpp"

namespace weft::perf::fused {
namespace {

using weft::kernels::AgGemm;
using weft::kernels::AgGemmOptions;

// Layers of models whose weights are shared by 8 (docs/measurements/2026-11-26-allgather-gemm.md),
// then few rows.
const std::vector<Shape> kShapes = {
    {"Qwen3-32B mlp", 2048, 6400, 5120}, {"Qwen3-32B mlp", 4096, 6400, 5120},
    {"Qwen3-32B mlp", 8192, 6400, 5120}, {"Qwen3-32B qkv", 4096, 1280, 5120},
    {"LLaMA-3.1-70B", 8192, 3584, 8192}, {"Qwen2-72B", 8192, 3696, 8192},
    {"LLaMA-7B", 8192, 1376, 4096},      {"LLaMA-3.1-8B", 8192, 1792, 4096},
    {"GPT-3-175B", 8192, 6144, 12288},   {"LLaMA-3.1-405B", 8192, 6656, 16384},
    {"Qwen3-32B mlp", 16, 6400, 5120},   {"Qwen3-32B mlp", 64, 6400, 5120},
    {"Qwen3-32B mlp", 256, 6400, 5120},  {"Qwen3-32B mlp", 512, 6400, 5120},
    {"Qwen3-32B mlp", 1024, 6400, 5120}};

Status measure(const Bench& bench, const Row& row, const Shape& shape,
               const AgGemmOptions& options) {
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

  const GemmProblem mine{shape.m / rt.npes(), shape.n, shape.k}, whole{shape.m, shape.n, shape.k};
  auto fused = AgGemm::create(rt, mine, options);
  if (!fused) return fused.status();
  auto product = Gemm::create(rt, whole);
  if (!product) return product.status();
  auto cublas = bench.fastest_cublas(whole, reference.get(), all.get(), b.get());
  if (!cublas) return cublas.status();

  Calls calls{};
  const auto gather = [&](Stream stream, const Buffers& at) {
    const Nccl& nccl = *bench.nccl();
    return of_nccl(nccl.all_gather(at.in, at.out, m / npes * k, Nccl::kBfloat16, nccl.comm,
                                   static_cast<cudaStream_t>(stream)));
  };
  Buffers at;
  ASSIGN_OR_RETURN(at, bench.fastest_for_nccl({a.get(), all.get()}, m / npes * k, gather));
  if (bench.nccl()) calls.nccl = [&](Stream stream) { return gather(stream, at); };
  if (*cublas)
    calls.cublas = [&](Stream stream) {
      return (**cublas)(stream, reference.get(), at.out, b.get());
    };
  if (calls.nccl && calls.cublas)
    calls.both = [&](Stream stream) {
      RETURN_IF_ERROR(calls.nccl(stream));
      return calls.cublas(stream);
    };
  calls.alone = [&](Stream stream) { return (*product)(stream, c.get(), all.get(), b.get()); };
  calls.fused = [&](Stream stream) { return (*fused)(stream, c.get(), a.get(), b.get()); };
  calls.c = c.get();
  calls.reference = reference.get();
  calls.count = m * n;
  calls.absolute_error = 1e-2f;
  calls.plan = fused->describe();
  return bench.measure(row, shape, calls);
}

}  // namespace

Status ag_lines(Bench& bench, const Row& row) {
  auto options = options_of<AgGemmOptions>(bench.options());
  options.push_blocks = bench.options().blocks;
  return bench.measure_all(
      row, kShapes,
      [](const Shape& s) { return static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.k); },
      [&](const Shape& shape) { return measure(bench, row, shape, options); });
}

}  // namespace weft::perf::fused
