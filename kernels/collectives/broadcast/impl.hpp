#pragma once

#include "kernels/collectives/broadcast/call.hpp"
#include "kernels/collectives/collective_impl.hpp"

namespace weft::kernels {

class BroadcastImpl : public CollectiveImpl {
 public:
  using CollectiveImpl::CollectiveImpl;
  Status run(Stream stream, void* out, const void* in, std::size_t count, int root) const;
};

}  // namespace weft::kernels
