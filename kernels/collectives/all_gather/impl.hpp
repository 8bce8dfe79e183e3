// AllGather and AllToAll.
#pragma once

#include "kernels/collectives/all_gather/call.hpp"
#include "kernels/collectives/collective_impl.hpp"

namespace weft::kernels {

class MoveImpl : public CollectiveImpl {
 public:
  using CollectiveImpl::CollectiveImpl;
  Status run(Stream stream, void* out, const void* in, std::size_t count) const;

 private:
  Status check_symmetric_buffers(const Messages& messages) const;
};

}  // namespace weft::kernels
