// The operators: one interface each over CollectiveImpl, which reports what they return.
#include <weft/kernels/collectives.hpp>

#include <utility>

#include "kernels/collectives/collective_impl.hpp"
#include "kernels/core/status.hpp"

namespace weft::kernels {
namespace {

Result<std::unique_ptr<CollectiveImpl>> make(Runtime& runtime, const Team& team, Collective what,
                                             const CollectiveProblem& problem,
                                             const CollectiveOptions& options) {
  auto made = CollectiveImpl::create(runtime, team, what, problem, options);
  if (!made) return report(std::move(made).status());
  return made;
}

}  // namespace

CollectiveOperator::CollectiveOperator(std::unique_ptr<CollectiveImpl> impl)
    : impl_(std::move(impl)) {}
CollectiveOperator::CollectiveOperator(CollectiveOperator&&) noexcept = default;
CollectiveOperator& CollectiveOperator::operator=(CollectiveOperator&&) noexcept = default;
CollectiveOperator::~CollectiveOperator() = default;

Result<Plan> CollectiveOperator::plan(std::size_t count) const { return impl_->plan(count); }
std::size_t CollectiveOperator::workspace_bytes() const { return impl_->workspace_bytes(); }

#define WEFT_OPERATOR(Name)                                                                       \
  Result<Name> Name::create(Runtime& runtime, const Team& team, const CollectiveProblem& problem, \
                            const CollectiveOptions& options) {                                   \
    ASSIGN_OR_RETURN(auto impl, make(runtime, team, Collective::k##Name, problem, options));      \
    return Name(std::move(impl));                                                                 \
  }                                                                                               \
  Result<Name> Name::create(Runtime& runtime, const CollectiveProblem& problem,                   \
                            const CollectiveOptions& options) {                                   \
    return create(runtime, runtime.world(), problem, options);                                    \
  }
#define WEFT_PLAIN_OPERATOR(Name)                                                        \
  WEFT_OPERATOR(Name)                                                                    \
  Status Name::operator()(Stream stream, void* out, const void* in, std::size_t count) { \
    return report(impl_->run(stream, out, in, count));                                   \
  }
WEFT_PLAIN_OPERATOR(AllReduce)
WEFT_PLAIN_OPERATOR(AllGather)
WEFT_PLAIN_OPERATOR(ReduceScatter)
WEFT_PLAIN_OPERATOR(AllToAll)
WEFT_OPERATOR(AllToAllV)
WEFT_OPERATOR(Broadcast)
#undef WEFT_PLAIN_OPERATOR
#undef WEFT_OPERATOR

Status AllToAllV::operator()(Stream stream, void* out, const void* in,
                             const AllToAllVSizes& sizes) {
  return report(impl_->run(stream, out, in, sizes));
}

Status Broadcast::operator()(Stream stream, void* out, const void* in, std::size_t count,
                             int root) {
  return report(impl_->run(stream, out, in, count, root));
}

}  // namespace weft::kernels
