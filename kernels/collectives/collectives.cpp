// The operators: one interface each over a CollectiveImpl, which reports what they return.
#include <weft/kernels/collectives.hpp>

#include <utility>

#include <weft/device/launch.hpp>
#include <weft/kernels/all_reduce_norm.hpp>

#include "kernels/collectives/all_gather/impl.hpp"
#include "kernels/collectives/all_reduce/impl.hpp"
#include "kernels/collectives/all_reduce_norm/impl.hpp"
#include "kernels/collectives/all_to_all_v/impl.hpp"
#include "kernels/collectives/broadcast/impl.hpp"
#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

template <class Impl>
Result<std::unique_ptr<CollectiveImpl>> make(Runtime& runtime, const Team& team,
                                             std::unique_ptr<Impl> impl) {
  const RelaxedCapture relaxed(runtime);
  if (Status made = impl->create(team); !made.is_ok()) return report(std::move(made));
  return std::unique_ptr<CollectiveImpl>(std::move(impl));
}

}  // namespace

CollectiveOperator::CollectiveOperator(std::unique_ptr<CollectiveImpl> impl)
    : impl_(std::move(impl)) {}
CollectiveOperator::CollectiveOperator(CollectiveOperator&&) noexcept = default;
CollectiveOperator& CollectiveOperator::operator=(CollectiveOperator&&) noexcept = default;
CollectiveOperator::~CollectiveOperator() = default;

Result<Plan> CollectiveOperator::plan(std::size_t count) const { return impl_->plan(count); }
std::size_t CollectiveOperator::workspace_bytes() const { return impl_->workspace_bytes(); }
std::string CollectiveOperator::describe() const { return impl_->describe(); }

#define WEFT_OPERATOR(Name, Impl)                                                                 \
  Result<Name> Name::create(Runtime& runtime, const Team& team, const CollectiveProblem& problem, \
                            const CollectiveOptions& options) {                                   \
    ASSIGN_OR_RETURN(                                                                             \
        auto impl, make(runtime, team,                                                            \
                        std::make_unique<Impl>(runtime, Collective::k##Name, problem, options))); \
    return Name(std::move(impl));                                                                 \
  }                                                                                               \
  Result<Name> Name::create(Runtime& runtime, const CollectiveProblem& problem,                   \
                            const CollectiveOptions& options) {                                   \
    return create(runtime, runtime.world(), problem, options);                                    \
  }
#define WEFT_PLAIN_OPERATOR(Name, Impl)                                                  \
  WEFT_OPERATOR(Name, Impl)                                                              \
  Status Name::operator()(Stream stream, void* out, const void* in, std::size_t count) { \
    detail::note_operator(#Name);                                                        \
    return report(static_cast<const Impl&>(*impl_).run(stream, out, in, count));         \
  }
WEFT_PLAIN_OPERATOR(AllReduce, ReduceImpl)
WEFT_PLAIN_OPERATOR(AllGather, MoveImpl)
WEFT_PLAIN_OPERATOR(ReduceScatter, ReduceImpl)
WEFT_PLAIN_OPERATOR(AllToAll, MoveImpl)
WEFT_OPERATOR(AllToAllV, AllToAllVImpl)
WEFT_OPERATOR(Broadcast, BroadcastImpl)
#undef WEFT_PLAIN_OPERATOR
#undef WEFT_OPERATOR

Status AllToAllV::operator()(Stream stream, void* out, const void* in,
                             const AllToAllVSizes& sizes) {
  detail::note_operator("AllToAllV");
  return report(static_cast<const AllToAllVImpl&>(*impl_).run(stream, out, in, sizes));
}

Status Broadcast::operator()(Stream stream, void* out, const void* in, std::size_t count,
                             int root) {
  detail::note_operator("Broadcast");
  return report(static_cast<const BroadcastImpl&>(*impl_).run(stream, out, in, count, root));
}

Result<AllReduceNorm> AllReduceNorm::create(Runtime& runtime, const Team& team,
                                            const AllReduceNormProblem& problem,
                                            const CollectiveOptions& options) {
  // An empty row has no mean, and what does not fit into max_count is refused there.
  if (problem.hidden == 0)
    return report(Status::error(Code::kInvalidArgument,
                                "AllReduceNorm: hidden is 0, but a row has elements"));
  constexpr std::size_t kMost = ~std::size_t{0};
  const bool fits = problem.max_rows <= kMost / problem.hidden;
  const CollectiveProblem rows{fits ? problem.max_rows * problem.hidden : kMost, problem.dtype,
                               ReduceOp::kSum};
  ASSIGN_OR_RETURN(auto impl,
                   make(runtime, team,
                        std::make_unique<NormImpl>(runtime, rows, options,
                                                   RowShape{problem.hidden, problem.epsilon})));
  return AllReduceNorm(std::move(impl));
}
Result<AllReduceNorm> AllReduceNorm::create(Runtime& runtime, const AllReduceNormProblem& problem,
                                            const CollectiveOptions& options) {
  return create(runtime, runtime.world(), problem, options);
}
Status AllReduceNorm::operator()(Stream stream, void* out, void* residual_out, const void* in,
                                 const void* residual, const void* weight, std::size_t rows) {
  detail::note_operator("AllReduceNorm");
  return report(static_cast<const NormImpl&>(*impl_).run(
      stream, {out, residual_out, in, residual, weight}, rows));
}

}  // namespace weft::kernels
