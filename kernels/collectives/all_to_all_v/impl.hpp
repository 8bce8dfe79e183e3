#pragma once

#include "kernels/collectives/all_to_all_v/call.hpp"
#include "kernels/collectives/collective_impl.hpp"

namespace weft::kernels {

class AllToAllVImpl : public CollectiveImpl {
 public:
  using CollectiveImpl::CollectiveImpl;
  Status run(Stream stream, void* out, const void* in, const AllToAllVSizes& sizes) const;

 private:
  // All calls have one plan.
  Status lay_out() override;
  bool has_device_sizes() const override { return true; }
  Status check_sizes(const AllToAllVSizes& sizes) const;
};

}  // namespace weft::kernels
