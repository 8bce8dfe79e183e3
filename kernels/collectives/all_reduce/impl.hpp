// AllReduce and ReduceScatter.
#pragma once

#include "kernels/collectives/all_reduce/call.hpp"
#include "kernels/collectives/collective_impl.hpp"

namespace weft::kernels {

class ReduceImpl : public CollectiveImpl {
 public:
  using CollectiveImpl::CollectiveImpl;
  Status run(Stream stream, void* out, const void* in, std::size_t count) const;

 private:
  bool scatters() const { return what_ == Collective::kReduceScatter; }
  Status check_symmetric_buffers(const Messages& messages) const;
};

}  // namespace weft::kernels
