// p2p: heaps of other PEs of this host, mapped.
//
// A PE that is a thread of my process is reached at its own addresses. A PE of another process
// hands me its chunks (Platform::share, open); I map them into one reservation per peer, so that
// peer address = base + offset for ever.
#include "host/transport/opened_transport.hpp"

namespace weft {

namespace {

constexpr Caps kCaps = {.maps = true, .link = Link::kSharedMemory, .gbps = 20, .usec = 0.1f};

class P2p final : public OpenedTransport {
 public:
  explicit P2p(const TransportEnv& env) : OpenedTransport(env, kCaps) {}
  std::string_view name() const override { return "p2p"; }

 private:
  std::string why_not_opened(int pe, const Blob& identity) const override {
    if (pe == env().pe) return kIsThisPe;
    return env().platform->why_not_mapped(identity);
  }
  Result<Platform*> opener(int, const Blob&) override { return env().platform; }
  Result<Memory> place_of(int pe, Platform& opener) const override;
};

Result<Memory> P2p::place_of(int pe, Platform& opener) const {
  const std::size_t bytes = env().heap.bytes;
  const Memory& places = env().places;
  if (places.base() == nullptr) return opener.reserve(bytes);
  return Memory({places.base() + static_cast<std::size_t>(pe) * bytes, bytes}, places.owner());
}

}  // namespace

std::unique_ptr<Transport> make_p2p(const TransportEnv& env) { return std::make_unique<P2p>(env); }

}  // namespace weft
