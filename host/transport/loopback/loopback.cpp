// loopback: my own heap.
#include "host/transport/mapped_transport.hpp"

namespace weft {

namespace {

constexpr Caps kCaps = {.maps = true, .link = Link::kSelf, .gbps = 20, .usec = 0.02f};

class Loopback final : public MappedTransport {
 public:
  explicit Loopback(const TransportEnv& env) : MappedTransport(env, kCaps) {}
  std::string_view name() const override { return "loopback"; }

  Result<Blob> address() override { return Blob(); }
  Status connect(std::span<const Blob>) override { return Status::ok(); }
  bool reaches(int pe) const override { return pe == env().pe; }
  std::string why_not(int pe) const override {
    return reaches(pe) ? "" : "it carries what a PE sends to itself only";
  }

  Result<Blob> expose(const Region&) override { return Blob(); }
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob&) override {
    map(pe, env().heap.base, offset, bytes);
    return Mapping{env().heap.base};
  }
  void detach(int pe, std::uint64_t offset) override { map(pe, env().heap.base, offset, 0); }
};

}  // namespace

std::unique_ptr<Transport> make_loopback(const TransportEnv& env) {
  return std::make_unique<Loopback>(env);
}

}  // namespace weft
