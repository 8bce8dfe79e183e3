// Collectives as operators: made once, then called on streams, with CUDA graphs, on buffers of any
// memory that kernels reach.
//
//   auto sum = weft::kernels::AllReduce::create(runtime, {.max_count = 1 << 20,
//                                                         .dtype = DType::kBfloat16});
//   status = (*sum)(stream, out, in, count);
//
// An operator holds symmetric memory of its own (workspace_bytes()), through which all data goes
// (of options.arena, where operators are to share an allocation): `in` and `out` need not be
// symmetric; where they are, options.symmetric says so. Its calls are one kernel each, without a
// barrier among the members: each waits only for the data that it needs. Members make the same
// calls with the same counts in the same order; one stream at a time. Operators of their own may
// run at once. A CUDA graph may hold calls, and be replayed any number of times.
//
// Results are complete when the call's kernel is; `in` may be reused then. Sums are formed in rank
// order, small floats as float and rounded once, so results are the same bits on every member and
// in every run. `count` 0 does nothing. Buffers are multiples of the element's size; those that are
// multiples of 16 bytes go faster.
//
// Calls take pointers and a count, or tensors (weft/kernels/tensor_view.hpp), of any shape, which
// have to be of the operator's type, without gaps and of sizes that go together.
//
// create() is collective over the job (all PEs of the runtime, with the same problem and options,
// and teams of one size; who is no member of its team gets an operator that refuses calls) and ends
// with a barrier; so is destruction, without one: destroy an operator when its calls have ended,
// and before its runtime, which stays where it is. A failure in a kernel (a member that does not
// come until WEFT_WAIT_TIMEOUT) is printed and returned by Runtime::health(); the operator's later
// calls then leave `out` as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <weft/kernels/arena.hpp>
#include <weft/kernels/plan.hpp>
#include <weft/kernels/tensor_view.hpp>
#include <weft/kernels/types.hpp>
#include <weft/reduce_op.hpp>
#include <weft/result.hpp>
#include <weft/runtime.hpp>
#include <weft/stream.hpp>
#include <weft/target.hpp>
#include <weft/team.hpp>

namespace weft::kernels {

// The largest call that is to come.
struct CollectiveProblem {
  std::size_t max_count = 0;  // elements; of what, each operator says
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  // AllReduce and ReduceScatter: kSum, kMin or kMax
};

// The same on every PE; create() compares.
struct CollectiveOptions {
  Algorithm algorithm = Algorithm::kAuto;
  unsigned blocks = 0;   // 0: what the table says, or fits beside PEs that share the GPU
  unsigned threads = 0;  // of a block, up to 512; 0: what the table says
  // Empty: the file of WEFT_KERNELS_TABLE, which PE 0 reads for all, and behind it the built-in
  // one.
  std::vector<PlanRow> table;
  // The buffers that others touch are symmetric memory in every call, the same on all members:
  // `out` of an AllGather, an AllToAll (where it is not `in`), an AllToAllV and a Broadcast, `in`
  // of a ReduceScatter, both of an AllReduce. Large messages go straight there then, without
  // workspace in between.
  bool symmetric = false;
  // Null, or what the operator's symmetric memory is taken from (weft/kernels/arena.hpp).
  const Arena* arena = nullptr;
  std::uint32_t first_round = 0;  // for tests: the number of rounds that channels think they had
};

class CollectiveImpl;

// The part that all operators have in common.
class WEFT_API CollectiveOperator {
 public:
  CollectiveOperator(CollectiveOperator&&) noexcept;
  CollectiveOperator& operator=(CollectiveOperator&&) noexcept;
  ~CollectiveOperator();

  // How a call of `count` elements is carried out.
  Result<Plan> plan(std::size_t count) const;
  // Symmetric memory that it holds on each member.
  std::size_t workspace_bytes() const;
  // Says for people what it is: its problem, its table, the plan of its largest call.
  std::string describe() const;

 protected:
  explicit CollectiveOperator(std::unique_ptr<CollectiveImpl> impl);
  std::unique_ptr<CollectiveImpl> impl_;
};

// out[i] = in[i] of all members, folded. out may be in.
class WEFT_API AllReduce : public CollectiveOperator {
 public:
  static Result<AllReduce> create(Runtime& runtime, const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  static Result<AllReduce> create(Runtime& runtime, const Team& team,
                                  const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t count);
  Status operator()(Stream stream, const TensorView& out, const ConstTensorView& in);

 private:
  using CollectiveOperator::CollectiveOperator;
};

// `count` elements of every member, in rank order: out has team size * count. in may be where they
// go.
class WEFT_API AllGather : public CollectiveOperator {
 public:
  static Result<AllGather> create(Runtime& runtime, const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  static Result<AllGather> create(Runtime& runtime, const Team& team,
                                  const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t count);
  Status operator()(Stream stream, const TensorView& out, const ConstTensorView& in);

 private:
  using CollectiveOperator::CollectiveOperator;
};

// in has team size * count elements; rank r gets the r-th `count` of all members, folded. out may
// be where these lie in in.
class WEFT_API ReduceScatter : public CollectiveOperator {
 public:
  static Result<ReduceScatter> create(Runtime& runtime, const CollectiveProblem& problem,
                                      const CollectiveOptions& options = {});
  static Result<ReduceScatter> create(Runtime& runtime, const Team& team,
                                      const CollectiveProblem& problem,
                                      const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t count);
  Status operator()(Stream stream, const TensorView& out, const ConstTensorView& in);

 private:
  using CollectiveOperator::CollectiveOperator;
};

// Both have team size * count elements: the r-th `count` of in goes to rank r, the s-th of out
// comes from rank s. out may be in.
class WEFT_API AllToAll : public CollectiveOperator {
 public:
  static Result<AllToAll> create(Runtime& runtime, const CollectiveProblem& problem,
                                 const CollectiveOptions& options = {});
  static Result<AllToAll> create(Runtime& runtime, const Team& team,
                                 const CollectiveProblem& problem,
                                 const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t count);
  Status operator()(Stream stream, const TensorView& out, const ConstTensorView& in);

 private:
  using CollectiveOperator::CollectiveOperator;
};

// How many elements go from where to where, as a kernel may have found out: each in memory that
// kernels reach, with an entry for each rank of the team, counts and offsets in elements.
struct AllToAllVSizes {
  const std::uint64_t* send_counts = nullptr;  // for rank r, from in + send_offsets[r] on
  const std::uint64_t* send_offsets = nullptr;
  const std::uint64_t* recv_offsets = nullptr;  // what comes from rank s goes to out + that
  std::uint64_t* recv_counts = nullptr;         // written: how many came from rank s
};

// Counts differ from pair to pair, and the host need not know them. max_count: of one member for
// another; more goes too, only slower. The plan is made by max_count, since that is what the host
// knows, and is the same for all calls. By LL small messages come with their counts, in the time of
// one way to a peer; by Simple all come in a second step, once the counts are known. out is not in.
// Each may be null where nothing comes or goes; but not an out by which peers' are found
// (options.symmetric).
class WEFT_API AllToAllV : public CollectiveOperator {
 public:
  static Result<AllToAllV> create(Runtime& runtime, const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  static Result<AllToAllV> create(Runtime& runtime, const Team& team,
                                  const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, const AllToAllVSizes& sizes);

 private:
  using CollectiveOperator::CollectiveOperator;
};

// `count` elements of rank `root` to all; only there is in read (elsewhere it may be null). out may
// be in.
class WEFT_API Broadcast : public CollectiveOperator {
 public:
  static Result<Broadcast> create(Runtime& runtime, const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  static Result<Broadcast> create(Runtime& runtime, const Team& team,
                                  const CollectiveProblem& problem,
                                  const CollectiveOptions& options = {});
  Status operator()(Stream stream, void* out, const void* in, std::size_t count, int root);
  Status operator()(Stream stream, const TensorView& out, const ConstTensorView& in, int root);

 private:
  using CollectiveOperator::CollectiveOperator;
};

}  // namespace weft::kernels
