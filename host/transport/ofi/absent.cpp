// ofi in a build without the headers of libfabric.
#include "host/transport/network/absent.hpp"
#include "host/transport/ofi/ofi.hpp"

namespace weft {

namespace {

constexpr const char* kWhy =
    "this libweft was built without rdma/fabric.h; install libfabric-dev and build it anew";

}  // namespace

std::unique_ptr<Transport> make_ofi(const TransportEnv&) {
  return std::make_unique<network::AbsentTransport>("ofi", kWhy);
}

Result<std::string> ofi_network(const Options&) { return Status::error(Code::kUnsupported, kWhy); }

}  // namespace weft
