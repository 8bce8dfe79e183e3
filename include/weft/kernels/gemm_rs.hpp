// GEMM-ReduceScatter: a product whose sum over k is spread over the PEs of a team, and of which
// each gets its rows, as tensor-parallel layers end with it:
//
//   auto layer = weft::kernels::GemmRs::create(runtime, {.m = tokens, .n = hidden,
//                                                        .k = features_of_a_pe});
//   status = (*layer)(stream, c, a, b);
//
// Each member has a[m, k] and b[n, k]; of the sum of all a * b^T, which has m rows, rank r gets
// rows r * h up to (r + 1) * h where h is m / team size, rounded up (so the last ranks may get
// fewer, or none: rows()). Matrices and types are those of Gemm (weft/kernels/gemm.hpp).
//
// A member's product is rounded to the type of the elements, as it is where the two go one after
// the other; these are added in rank order as float, and the sum is rounded once. c is, bit by bit,
// what Gemm and ReduceScatter make of the same tiles: the same in every run.
//
// Where it pays, tiles travel as soon as they are multiplied: each straight to the owner of its
// rows, who adds what the others have sent when it stores its own. The others' rows come first. Few
// rows, whose tiles are all multiplied at once, go by a kernel of their own, whose threads send
// each what they have of the others' rows and add up what comes of mine; whether team size divides
// m or not. Elsewhere Gemm, then ReduceScatter: for members that do not map each other, where team
// size does not divide more rows, and on GPUs without kernels of Weft's own.
//
// The operator holds symmetric memory (workspace_bytes()): of direct and overlapped calls, twice
// what it sends, and of others the whole product. a, b and c need not be symmetric. There is no
// barrier, before a call or behind it: members make the same calls with the same m in the same
// order, on one stream at a time. Operators of their own may run at once where their grids fit on
// the GPU together (GemmOptions::num_sms); PEs that share one get a part of it each, unless that is
// set. A CUDA graph may hold calls, and be replayed any number of times.
//
// create() is collective over the job, as that of a collective (weft/kernels/collectives.hpp), and
// so is destruction. A member that does not come until WEFT_WAIT_TIMEOUT is printed and returned by
// Runtime::health(): of that call, c is undefined, and later calls leave it as it is.
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

enum class GemmRsAlgorithm : std::uint8_t {
  kAuto,        // what is expected to be faster
  kSequential,  // Gemm, then ReduceScatter
  kOverlapped,  // tiles as they come, of few rows too; kUnsupported where it cannot be
  kOneKernel,   // in one kernel of all tiles at once; kUnsupported where problem.m rows cannot be
};

// The same on every member.
struct GemmRsOptions {
  GemmRsAlgorithm algorithm = GemmRsAlgorithm::kAuto;
  GemmOptions gemm{};            // of the product
  const Arena* arena = nullptr;  // null, or what its memory is taken from (weft/kernels/arena.hpp)
};

class WEFT_API GemmRs {
 public:
  // problem.m: rows of a, at most; the same problem on all, strides but for them.
  static Result<GemmRs> create(Runtime& runtime, const GemmProblem& problem,
                               const GemmRsOptions& options = {});
  static Result<GemmRs> create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                               const GemmRsOptions& options = {});
  GemmRs(GemmRs&&) noexcept;
  GemmRs& operator=(GemmRs&&) noexcept;
  ~GemmRs();

  // Queues a call with problem.m rows.
  Status operator()(Stream stream, void* c, const void* a, const void* b);
  // The same with fewer, on all members alike: 0 <= m <= problem.m. Pointers are as Gemm wants
  // them; c, of rows(m) rows, overlaps nothing else.
  Status operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m);

  // Rows that are mine of m.
  std::int64_t rows(std::int64_t m) const;
  // Says for people what calls do.
  std::string describe() const;
  // Symmetric memory that it holds on each member.
  std::size_t workspace_bytes() const;

 private:
  explicit GemmRs(std::unique_ptr<fused::Operator> made);
  std::unique_ptr<fused::Operator> operator_;
};

}  // namespace weft::kernels
