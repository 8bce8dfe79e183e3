// The set gemm: the matrix product of weft::kernels beside cuBLASLt, on one GPU.
//
// Both multiply the same random normal numbers, in turns, as CUDA graphs of some milliseconds;
// operands rotate where they would stay in the cache. cuBLASLt runs the fastest of the
// algorithms that its heuristics name. A pause before each graph lets the GPU cool, so that neither
// runs on what the other has left of its power. Rates count 2 * M * N * K operations.
// For e4m3 with scales for blocks, cuBLASLt multiplies the same numbers with one scale a matrix: a
// ceiling (peers/cublas_e4m3.hpp).
// --tiles runs every tile of Weft's, for the table in kernels/gemm/plan.hpp; --tile the one of that
// name, as "sm80/128x128".
#include "perftest/gpu_gemm/bench.hpp"
#include "perftest/operators/operators.hpp"

namespace weft::perf {
namespace gemm {
namespace {

// The products of a rank of 8 in tensor-parallel layers (LLaMA, Qwen, GPT-3): before a
// reduce-scatter and behind an all-gather; then few rows, as in decoding.
const std::vector<Shape> kLarge = {{8192, 3584, 8192},  {8192, 8192, 3584}, {8192, 6144, 12288},
                                   {8192, 12288, 6144}, {4096, 1280, 5120}, {8192, 1376, 4096},
                                   {8192, 4096, 1376},  {8192, 1792, 4096}, {8192, 4096, 1792},
                                   {2048, 6400, 5120},  {4096, 6400, 5120}, {2048, 5120, 3200},
                                   {4096, 5120, 3200},  {4096, 5120, 1024}, {8192, 8192, 8192}};
const std::vector<Shape> kSmall = {
    {1, 5120, 3200},   {16, 5120, 3200}, {64, 5120, 3200}, {128, 5120, 3200}, {256, 5120, 3200},
    {512, 5120, 3200}, {1, 5120, 1024},  {16, 5120, 1024}, {64, 5120, 1024},  {128, 5120, 1024},
    {16, 6400, 5120},  {16, 1280, 5120}, {64, 1280, 5120}, {128, 1280, 5120}, {64, 1024, 8192}};
// The products of e4m3: layers of DeepSeek-V3.
const std::vector<Shape> kLargeE4m3 = {{4096, 2112, 7168}, {4096, 24576, 1536}, {4096, 7168, 16384},
                                       {4096, 4096, 7168}, {4096, 7168, 2048},  {8192, 8192, 8192}};
const std::vector<Shape> kSmallE4m3 = {{1, 7168, 2048},   {16, 4096, 7168},  {64, 2112, 7168},
                                       {64, 7168, 16384}, {64, 4096, 7168},  {64, 7168, 2048},
                                       {128, 4096, 7168}, {128, 7168, 2048}, {256, 7168, 2048}};

const std::vector<Shape>& shapes_of(const Row& row, DType dtype) {
  const bool few = row.name == "GemmFewRows";
  if (dtype == DType::kFloat8E4m3) return few ? kSmallE4m3 : kLargeE4m3;
  return few ? kSmall : kLarge;
}

// Shapes of the command line take the place of those of all rows.
Status run(Job& job, std::span<const Row* const> rows, Reporter& out) {
  const std::vector<Shape>& given = job.options().op.shapes;
  if (!given.empty()) rows = rows.first(1);
  Bench bench(job, out);
  RETURN_IF_ERROR(bench.start());
  for (const Row* row : rows) {
    out.start(*row);
    for (const Shape& shape : given.empty() ? shapes_of(*row, bench.dtype()) : given)
      RETURN_IF_ERROR(bench.measure(*row, shape));
    out.finish(*row);
  }
  return Status::ok();
}

Row made(std::string_view name, std::string_view what) {
  Row row = operator_row("gemm", run, name, what, "shape: M x N x K; TFLOP/s = 2 M N K / p50");
  row.floor = "the fastest of cuBLASLt's algorithms";
  row.uses = kUsesShape | kUsesFlops;
  row.gpu = true;
  return row;
}

}  // namespace
}  // namespace gemm

std::vector<Row> gemm_rows() {
  return {gemm::made("Gemm", "matrix product on one GPU: layers of language models, M N K or such"),
          gemm::made("GemmFewRows", "the same with few rows, as in decoding")};
}

}  // namespace weft::perf
