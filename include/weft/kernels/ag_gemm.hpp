// AllGather-GEMM: the product of the rows of all PEs of a team with a weight of one's own, as
// tensor-parallel layers begin with it:
//
//   auto layer = weft::kernels::AgGemm::create(runtime, {.m = tokens_of_a_pe,
//                                                        .n = features_of_a_pe,
//                                                        .k = hidden});
//   status = (*layer)(stream, c, a, b);
//
// Each PE has a[m, k] and b[n, k], and gets c[team size * m, n] = rows * b^T, where `rows` are
// those of all members' a in rank order. Matrices, types and sums are those of Gemm
// (weft/kernels/gemm.hpp).
//
// Where it pays, the rows travel while the product runs: some blocks put my rows to the others, in
// the order in which these need them, and the product begins with my own rows, then takes those of
// the next rank, and so on, each tile as soon as its rows are there. c is, bit by bit, what
// AllGather and Gemm make of the same tiles one after the other, which is what it does where that
// is faster: for few rows, for members that do not map each other, on GPUs without kernels of
// Weft's own.
//
// The operator holds symmetric memory (workspace_bytes()): room for everybody's rows, twice. a, b
// and c need not be symmetric. There is no barrier, before a call or behind it: members make the
// same calls with the same m in the same order, on one stream at a time. A CUDA graph may hold
// calls, and be replayed any number of times.
//
// Operators of their own may run at once. Blocks of a product wait for rows that others push, so
// all that runs on a GPU at a time has to fit there: give each a share (gemm.num_sms), which counts
// the blocks that push.
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

enum class AgGemmAlgorithm : std::uint8_t {
  kAuto,        // what is expected to be faster
  kSequential,  // AllGather, then Gemm
  kOverlapped,  // at once, few rows too; kUnsupported where it cannot be
};

// The same on every member.
struct AgGemmOptions {
  AgGemmAlgorithm algorithm = AgGemmAlgorithm::kAuto;
  unsigned push_blocks = 0;  // that put rows while the product runs; 0: what is expected to be best
  GemmOptions gemm{};        // of the product
  const Arena* arena = nullptr;  // null, or what its memory is taken from (weft/kernels/arena.hpp)
};

class WEFT_API AgGemm {
 public:
  // problem.m: rows of each PE, at most; the same problem on all, strides but for them.
  static Result<AgGemm> create(Runtime& runtime, const GemmProblem& problem,
                               const AgGemmOptions& options = {});
  static Result<AgGemm> create(Runtime& runtime, const Team& team, const GemmProblem& problem,
                               const AgGemmOptions& options = {});
  AgGemm(AgGemm&&) noexcept;
  AgGemm& operator=(AgGemm&&) noexcept;
  ~AgGemm();

  // Queues a call with problem.m rows of each PE.
  Status operator()(Stream stream, void* c, const void* a, const void* b);
  // The same with fewer, on all members alike: 0 <= m <= problem.m. Where `gathered` is not null,
  // it gets everybody's rows, [team size * m, k], one close behind the other; k is a multiple of 8
  // then. Pointers are as Gemm wants them; c and gathered overlap nothing else.
  Status operator()(Stream stream, void* c, const void* a, const void* b, std::int64_t m,
                    void* gathered = nullptr);

  // Says for people what calls do.
  std::string describe() const;
  // Symmetric memory that it holds on each member.
  std::size_t workspace_bytes() const;

 private:
  explicit AgGemm(std::unique_ptr<fused::Operator> made);
  std::unique_ptr<fused::Operator> operator_;
};

}  // namespace weft::kernels
