// null: takes every op and brings nothing, so that what comes before a network can be measured
// alone: kernels, rings, the proxy. Between memory of GPUs only: a job of hosts could not meet by
// it. weft-perf gpu_ring is who uses it.
#include "host/transport/apply.hpp"
#include "host/transport/mapped_transport.hpp"

namespace weft {

namespace {

constexpr Caps kCaps = {.maps = false, .link = Link::kNetwork};

class Null final : public MappedTransport {
 public:
  explicit Null(const TransportEnv& env) : MappedTransport(env, kCaps) {}
  std::string_view name() const override { return "null"; }

  Result<Blob> address() override { return Blob(); }
  Status connect(std::span<const Blob>) override { return Status::ok(); }
  bool reaches(int pe) const override { return why_not(pe).empty(); }
  std::string why_not(int pe) const override {
    if (pe == env().pe) return kIsThisPe;
    return env().is_gpu ? "" : "null brings nothing, so it is for WEFT_GPU_TRANSPORTS alone";
  }

  Result<Blob> expose(const Region&) override { return Blob(); }
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob&) override {
    map(pe, nullptr, offset, bytes);
    return Mapping{};
  }
  void detach(int pe, std::uint64_t offset) override { map(pe, nullptr, offset, 0); }

 private:
  bool carries() const override { return true; }
  Status carry_out(const Op& op, std::byte*) override {
    if (is_amo(op.kind)) bring_result(op, 0);
    return Status::ok();
  }
};

}  // namespace

std::unique_ptr<Transport> make_null(const TransportEnv& env) {
  return std::make_unique<Null>(env);
}

}  // namespace weft
