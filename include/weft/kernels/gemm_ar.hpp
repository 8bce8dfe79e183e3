// GEMM-AllReduce: a product whose sum over k is spread over the PEs of a team, and which all of
// them get whole, as tensor-parallel layers end with it in decoding:
//
//   auto layer = weft::kernels::GemmAr::create(runtime, {.m = tokens, .n = hidden,
//                                                        .k = features_of_a_pe});
//   status = (*layer)(stream, c, a, b);
//
// Each member has a[m, k] and b[n, k], and gets c[m, n], the sum of all a * b^T. Matrices and types
// are those of Gemm (weft/kernels/gemm.hpp). A member's product is rounded to the type of the
// elements; these are added in rank order as float, and the sum is rounded once. So c is the same
// bits on every member and in every run, and those of Gemm and AllReduce of the same tiles.
//
// Up to some thousand rows go by one kernel: each tile is sent as soon as it is multiplied, and the
// same kernel adds up what comes of it. With more rows, each member adds up its share while the
// product runs, and sends it to all then: GemmRs (weft/kernels/gemm_rs.hpp), then AllGather. Else
// Gemm, then AllReduce.
//
// Symmetric memory, streams, graphs, create() and what happens where a member does not come are as
// GemmRs has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <weft/kernels/arena.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

namespace weft::kernels {

namespace fused {
class Operator;
}

enum class GemmArAlgorithm : std::uint8_t {
  kAuto,        // what is expected to be faster
  kSequential,  // Gemm, then AllReduce
  kOverlapped,  // GemmRs, overlapped, then AllGather; kUnsupported where it cannot be
  kOneKernel,   // in one kernel; kUnsupported where it cannot be
};

// The same on every member.
struct GemmArOptions {
  GemmArAlgorithm algorithm = GemmArAlgorithm::kAuto;
  GemmOptions gemm{};            // of the product
  const Arena* arena = nullptr;  // null, or what its memory is taken from (weft/kernels/arena.hpp)
};

class WEFT_API GemmAr {
 public:
  // problem.m: rows, at most; the same problem on all, strides but for them.
  static Result<GemmAr> create(Runtime& runtime, const GemmProblem& problem,
                               const GemmArOptions& options = {});
  static Result<GemmAr> create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                               const GemmArOptions& options = {});
  GemmAr(GemmAr&&) noexcept;
  GemmAr& operator=(GemmAr&&) noexcept;
  ~GemmAr();

  // Queues a call with problem.m rows.
  Status operator()(Stream stream, void* c, const void* a, const void* b);
  // The same with fewer, on all members alike: 0 <= m <= problem.m. Pointers are as Gemm wants
  // them; c overlaps nothing else.
  Status operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m);

  // Says for people what calls do.
  std::string describe() const;
  // Symmetric memory that it holds on each member.
  std::size_t workspace_bytes() const;

 private:
  explicit GemmAr(std::unique_ptr<fused::Operator> made);
  std::unique_ptr<fused::Operator> operator_;
};

}  // namespace weft::kernels
