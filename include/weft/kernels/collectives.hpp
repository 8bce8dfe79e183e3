// Collectives of whole GPUs, as operators: made once with all that they need, then called on
// streams.
//
//   auto sum = weft::kernels::AllReduce::create(runtime, {.max_count = n, .dtype =
//   DType::kBfloat16}); status = (*sum)(stream, out, in, count);            // on every PE, in the
//   same order
//
// `in` and `out` are any memory that this PE's kernels reach; symmetric it need not be. out == in
// is fine everywhere; else they do not overlap, but for in == out + my part of an all-gather and
// out == in + my part of a reduce-scatter. A count of 0 is fine, too. Every PE of the team makes
// the same calls with the same counts, in the same order; operators on different streams are
// independent.
//
// A call queues one kernel and returns: its Status says whether it could. A wait that fails later
// (WEFT_WAIT_TIMEOUT) is printed and returned by Runtime::health(). Calls can be captured in a
// graph and replayed: they keep no count on the host, reset nothing, and begin and end with no
// barrier of all. An operator has one call under way at a time.
//
// Sums are formed in float, in rank order, and rounded once: the same bits on every PE, in every
// run and by every algorithm. Minimum and maximum keep what they have unless the next is smaller or
// larger.
//
// On the CPU target the same kernels run on host threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <weft/kernels/types.hpp>
#include <weft/reduce_op.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/status.hpp>
#include <weft/stream.hpp>
#include <weft/team.hpp>

namespace weft::kernels {

enum class Algorithm : std::uint8_t {
  kAuto,          // by a table of what was measured
  kPackets,       // each sends all to all, flags within the data: the lowest latency
  kPacketsTwice,  // a part to its owner, from there to all: all-reduce of several PEs
  kPieces,        // puts with signals, to all at once
  kPiecesTwice,   // to an owner, from there to all: all-reduce and broadcast
};
WEFT_API const char* to_string(Algorithm algorithm);

struct CollectiveOptions {
  std::optional<Team> team{};  // of which this PE is a member; none: all PEs
  Algorithm algorithm = Algorithm::kAuto;
  int channels = 0;               // blocks of the kernel; 0: the plan says
  int threads = 0;                // of a block; 0: the plan says
  std::uint64_t first_round = 0;  // for tests: rounds are counted from here
  std::uint32_t delay = 0;  // for tests: looks at a word, at most, between steps of the protocol
};

namespace collectives {
class Operator;
}

// What all of them have in common.
class WEFT_API Collective {
 public:
  Collective(Collective&&) noexcept;
  Collective& operator=(Collective&&) noexcept;
  // Collective: gives the workspace back. Calls must be complete, and the runtime still there.
  ~Collective();

  // Symmetric memory that it has taken on every PE.
  std::size_t workspace_bytes() const;

 protected:
  explicit Collective(std::unique_ptr<collectives::Operator> made);
  std::unique_ptr<collectives::Operator> operator_;
};

// out[i] = in[i] of rank 0 op in[i] of rank 1 op ..., on every PE. op: kSum, kMin, kMax.
class WEFT_API AllReduce : public Collective {
 public:
  struct Problem {
    std::size_t max_count = 0;  // elements
    DType dtype = DType::kFloat32;
    ReduceOp op = ReduceOp::kSum;
  };
  // Collective, with the same arguments on all.
  static Result<AllReduce> create(Runtime& runtime, const Problem& problem,
                                  const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t count);
  // What a call of that many elements does, for people.
  std::string describe(std::size_t count) const;

 private:
  using Collective::Collective;
};

// in: a part for each rank, of `count` elements; out: mine, reduced.
class WEFT_API ReduceScatter : public Collective {
 public:
  using Problem = AllReduce::Problem;  // max_count: of a part
  static Result<ReduceScatter> create(Runtime& runtime, const Problem& problem,
                                      const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t count);
  std::string describe(std::size_t count) const;

 private:
  using Collective::Collective;
};

// Part r of out is in of rank r: `bytes` each.
class WEFT_API AllGather : public Collective {
 public:
  static Result<AllGather> create(Runtime& runtime, std::size_t max_bytes,
                                  const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t bytes);
  std::string describe(std::size_t bytes) const;

 private:
  using Collective::Collective;
};

// Part r of in goes to rank r, where it is part my-rank of out: `bytes` each.
class WEFT_API AllToAll : public Collective {
 public:
  static Result<AllToAll> create(Runtime& runtime, std::size_t max_bytes,
                                 const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t bytes);
  std::string describe(std::size_t bytes) const;

 private:
  using Collective::Collective;
};

// `in` of rank `root`, `bytes` long, to out of every PE, root included; of others `in` is not read.
class WEFT_API Broadcast : public Collective {
 public:
  static Result<Broadcast> create(Runtime& runtime, std::size_t max_bytes,
                                  const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t bytes, int root);
  std::string describe(std::size_t bytes) const;

 private:
  using Collective::Collective;
};

}  // namespace weft::kernels
