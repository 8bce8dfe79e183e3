// AllReduce and ReduceScatter.
#pragma once

#include "kernels/collectives/all_reduce/call.hpp"
#include "kernels/collectives/collective_impl.hpp"

namespace weft::kernels {

class ReduceImpl : public CollectiveImpl {
 public:
  // `what`: one of the two.
  ReduceImpl(Runtime& runtime, Collective what, const CollectiveProblem& problem,
             const CollectiveOptions& options = {})
      : CollectiveImpl(runtime, what, problem, options) {}
  Status run(Stream stream, void* out, const void* in, std::size_t count) const;

 private:
  Status check_symmetric_buffers(const Messages& messages) const;
};

}  // namespace weft::kernels
