#pragma once

#include "kernels/collectives/broadcast/call.hpp"
#include "kernels/collectives/collective_impl.hpp"

namespace weft::kernels {

class BroadcastImpl : public CollectiveImpl {
 public:
  BroadcastImpl(Runtime& runtime, Collective what, const CollectiveProblem& problem,
                const CollectiveOptions& options = {})
      : CollectiveImpl(runtime, what, problem, options) {}
  Status run(Stream stream, void* out, const void* in, std::size_t count, int root) const;
};

}  // namespace weft::kernels
