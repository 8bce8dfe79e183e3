// ib in a build without the headers of verbs.
#include "host/transport/ib/ib.hpp"
#include "host/transport/network/absent.hpp"

namespace weft {

namespace {

constexpr const char* kWhy =
    "this libweft was built without infiniband/verbs.h; install libibverbs-dev and build it anew";

}  // namespace

std::unique_ptr<Transport> make_ib(const TransportEnv&) {
  return std::make_unique<network::AbsentTransport>("ib", kWhy);
}

Result<std::string> ib_port(const Options&) { return Status::error(Code::kUnsupported, kWhy); }
Result<std::string> ib_gpu_memory(const Options&, Platform&) {
  return Status::error(Code::kUnsupported, kWhy);
}

}  // namespace weft
