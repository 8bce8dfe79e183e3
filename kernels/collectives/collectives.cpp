// The operators: one interface each over a CollectiveImpl, which reports what they return.
#include <weft/kernels/collectives.hpp>

#include <string>
#include <utility>

#include <fmt/format.h>

#include <weft/device/launch.hpp>
#include <weft/kernels/all_reduce_norm.hpp>

#include "kernels/collectives/all_gather/impl.hpp"
#include "kernels/collectives/all_reduce/impl.hpp"
#include "kernels/collectives/all_reduce_norm/impl.hpp"
#include "kernels/collectives/all_to_all_v/impl.hpp"
#include "kernels/collectives/broadcast/impl.hpp"
#include "kernels/core/relaxed_capture.hpp"
#include "kernels/core/status.hpp"
#include "kernels/core/tensor_view.hpp"

namespace weft::kernels {
namespace {

template <class Impl>
Result<std::unique_ptr<CollectiveImpl>> make(Runtime& runtime, const Team& team,
                                             std::unique_ptr<Impl> impl) {
  const RelaxedCapture relaxed(runtime);
  if (Status made = impl->create(team); !made.is_ok()) return report(std::move(made));
  return std::unique_ptr<CollectiveImpl>(std::move(impl));
}

Status refuse_rows(const std::string& who, const char* argument, const ConstTensorView& view,
                   std::size_t elements, std::size_t hidden) {
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{}: {} is {}, but should have {} elements in rows of {}", who,
                                   argument, to_string(view), elements, hidden));
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
#define WEFT_PLAIN_OPERATOR(Name, Impl, out_times, in_times)                                 \
  WEFT_OPERATOR(Name, Impl)                                                                  \
  Status Name::operator()(Stream stream, void* out, const void* in, std::size_t count) {     \
    detail::note_operator(#Name);                                                            \
    return report(static_cast<const Impl&>(*impl_).run(stream, out, in, count));             \
  }                                                                                          \
  Status Name::operator()(Stream stream, const TensorView& out, const ConstTensorView& in) { \
    const auto count = count_of(#Name, impl_->dtype(), out, out_times, in, in_times);        \
    if (!count) return report(count.status());                                               \
    return (*this)(stream, out.data, in.data, *count);                                       \
  }
WEFT_PLAIN_OPERATOR(AllReduce, ReduceImpl, 1, 1)
WEFT_PLAIN_OPERATOR(AllGather, MoveImpl, impl_->members(), 1)
WEFT_PLAIN_OPERATOR(ReduceScatter, ReduceImpl, 1, impl_->members())
WEFT_PLAIN_OPERATOR(AllToAll, MoveImpl, impl_->members(), impl_->members())
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

Status Broadcast::operator()(Stream stream, const TensorView& out, const ConstTensorView& in,
                             int root) {
  const ConstTensorView& both = in.data == nullptr ? ConstTensorView(out) : in;
  const auto count = count_of("Broadcast", impl_->dtype(), out, 1, both, 1);
  if (!count) return report(count.status());
  return (*this)(stream, out.data, in.data, *count, root);
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
Status AllReduceNorm::operator()(Stream stream, const TensorView& out,
                                 const TensorView& residual_out, const ConstTensorView& in,
                                 const ConstTensorView& residual, const ConstTensorView& weight) {
  const auto rows = [&]() -> Result<std::size_t> {
    const std::string who = impl_->name();
    const std::size_t hidden = impl_->hidden();
    ASSIGN_OR_RETURN(const std::size_t count, count_of(who, impl_->dtype(), out, 1, in, 1));
    for (const auto& [argument, view] :
         {std::pair<const char*, const ConstTensorView>{"residual_out", residual_out},
          {"residual", residual}}) {
      ASSIGN_OR_RETURN(const std::size_t there, elements_of(who, argument, impl_->dtype(), view));
      if (there != count) return refuse_rows(who, argument, view, count, hidden);
    }
    ASSIGN_OR_RETURN(const std::size_t weights, elements_of(who, "weight", impl_->dtype(), weight));
    if (weights != hidden) return refuse_rows(who, "weight", weight, hidden, hidden);
    if (count % hidden != 0 || in.rank == 0 ||
        in.shape[static_cast<std::size_t>(in.rank - 1)] != static_cast<std::int64_t>(hidden))
      return refuse_rows(who, "in", in, count, hidden);
    return count / hidden;
  }();
  if (!rows) return report(rows.status());
  return (*this)(stream, out.data, residual_out.data, in.data, residual.data, weight.data, *rows);
}

}  // namespace weft::kernels
