// The matrix product that weft::kernels computes with, as an operator:
//
//   auto product = weft::kernels::Gemm::create(runtime, {.m = tokens, .n = features, .k = hidden});
//   status = (*product)(stream, c, a, b);      // c[m, n] = a[m, k] * b[n, k]^T
//
// All matrices are row-major; b is a weight as models keep it, so that both operands run along k.
// Elements are bfloat16 or float16, sums float, rounded once at the end.
//
// Sums of one element are formed in an order that depends on the problem, the options and the GPU
// alone: the same bits in every call. On host threads each is one float to which products are added
// in the order of k.
//
// With dtype kFloat8E4m3, a and b are e4m3 with a scale for each block, as DeepSeek-V3 has them
// (arXiv 2412.19437, section 3.3), and c is bfloat16:
//
//   c[i, j] = sum over blocks q of 128 along k:
//             scales.a[i, q] * scales.b[j / 128, q] * sum of a[i, k] * b[j, k] over k in q
//
//   status = (*product)(stream, c, a, b, tokens, {a_scales, b_scales});
//
// Host threads form the sum of a block in float, in the order of k; tensor cores of compute
// capability 9.0 with fewer bits. Blocks are scaled and added as float, in the order of k. A NaN
// among the scales is in all that it scales.
//
// On compute capability 9.0 a call may be on the GPU before the kernel before it in its stream is
// over (programmatic dependent launch); it waits for that one's end before it reads or writes.
//
// It needs no other PE: the runtime says where it runs. On GPUs of compute capability 9.0 (H100,
// H200) these are kernels of Weft's own. On others it is cuBLASLt, which is looked for when it is
// wanted; where it is not found, or GemmBackend::kKernels is asked for, from 8.0 on (A100, L20)
// kernels of Weft's own by mma.sync. e4m3 has kernels for 9.0 alone, and is kUnsupported
// elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <weft/kernels/tensor_view.hpp>
#include <weft/kernels/types.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>

namespace weft::kernels {

namespace gemm {
class Backend;
}

struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;  // each may be 0; with k == 0, c becomes zeros
  // kBfloat16 or kFloat16: of all three matrices. kFloat8E4m3: of a and b; then k is even.
  DType dtype = DType::kBfloat16;
  // Elements from row to row; 0: k, k, n. Rows begin at multiples of 16 bytes: of 8 elements, or of
  // 16 where they are e4m3.
  std::int64_t lda = 0, ldb = 0, ldc = 0;
};

// The scales of e4m3, in memory of the same kind as the matrices. Row-major without gaps; q =
// ceil(k / 128).
struct GemmScales {
  const float* a = nullptr;  // [m, q]
  const float* b = nullptr;  // [ceil(n / 128), q]
};

enum class GemmBackend : std::uint8_t { kAuto, kKernels, kCublas };

struct GemmOptions {
  GemmBackend backend = GemmBackend::kAuto;
  int num_sms = 0;  // of the GPU that it may take; 0: all
  // The tile of Weft's kernels, as describe() names it, or the number of one of cuBLASLt's
  // algorithms, "0" first; "": the plan's tile, or 0. "sm80/..." are kernels of compute capability
  // 8.0, which run on later GPUs as well.
  std::string tile{};
  // b is a constant, such as a weight: no work that may still run when a call is queued writes it.
  // A kernel of compute capability 9.0 then prefetches b while the kernel before it in the stream
  // runs (programmatic dependent launch); otherwise it waits for that kernel before it reads b.
  bool constant_b = false;
};

class WEFT_API Gemm {
 public:
  static Result<Gemm> create(Runtime& runtime, const GemmProblem& problem,
                             const GemmOptions& options = {});
  Gemm(Gemm&&) noexcept;
  Gemm& operator=(Gemm&&) noexcept;
  ~Gemm();

  // Queues c = a * b^T. Pointers are multiples of 16 bytes, and memory that this PE's kernels
  // reach; c overlaps neither a nor b. Memory between the rows of a matrix is neither read nor
  // written. One call at a time; may be captured in a graph.
  Status operator()(Stream stream, void* c, const void* a, const void* b);
  // The same with fewer rows of a and c: 0 <= m <= problem.m.
  Status operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m);
  // The same of e4m3; with other types, scales are null.
  Status operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m,
                    const GemmScales& scales);
  // The same of tensors: c [m, n], a [m, k], b [n, k], whose row strides are those of the problem.
  Status operator()(Stream stream, const TensorView& c, const ConstTensorView& a,
                    const ConstTensorView& b, const GemmScales& scales = {});

  // Says for people what a call does.
  std::string describe() const;

 private:
  Gemm(const GemmProblem& problem, std::unique_ptr<gemm::Backend> backend);

  GemmProblem problem_;
  std::unique_ptr<gemm::Backend> backend_;
};

}  // namespace weft::kernels
