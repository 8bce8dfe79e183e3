#include "host/transport/fault/fault.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "host/transport/apply.hpp"
#include "host/transport/fault/lane.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

Caps fault_caps(Caps caps, const FaultSpec& spec) {
  caps.maps = false;
  caps.in_order = false;
  caps.needs_progress = true;
  if (spec.max_bytes != 0) caps.max_bytes = std::min(caps.max_bytes, spec.max_bytes);
  return caps;
}

class FaultTransport final : public Transport {
 public:
  FaultTransport(std::unique_ptr<Transport> inner, const FaultSpec& spec, const TransportEnv& env)
      : inner_(std::move(inner)),
        name_("fault:" + std::string(inner_->name())),
        caps_(fault_caps(inner_->caps(), spec)) {
    for (std::size_t i = 0; i < kTransportLanes; ++i)
      lanes_.push_back(std::make_unique<FaultLane>(*inner_, Lane(i), spec, env.pe));
  }

  std::string_view name() const override { return name_; }
  const Caps& caps() const override { return caps_; }

  Result<Blob> address() override { return inner_->address(); }
  Status connect(std::span<const Blob> all) override { return inner_->connect(all); }
  bool reaches(int pe) const override { return inner_->reaches(pe); }
  std::string why_not(int pe) const override { return inner_->why_not(pe); }
  Result<Blob> expose(const Region& region) override { return inner_->expose(region); }
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                         const Blob& exposed) override {
    ASSIGN_OR_RETURN([[maybe_unused]] const Mapping hidden,
                     inner_->attach(pe, offset, bytes, exposed));
    return Mapping{};
  }
  void detach(int pe, std::uint64_t offset) override { inner_->detach(pe, offset); }

  Status check(const Op& op) const override { return inner_->check(op); }
  // A bad op is refused here, as without the injector, and not when it is let go.
  Status post(Lane lane, const Op& op) override {
    RETURN_IF_ERROR(check(op));
    if (op.bytes > caps_.max_bytes && !is_amo(op.kind))
      return Status::error(Code::kInternal, fmt::format("{}: was to be cut into pieces of {} bytes",
                                                        describe(op), caps_.max_bytes));
    return at(lane).post(op);
  }
  Status progress(Lane lane) override { return at(lane).progress(); }
  std::uint64_t completed(Lane lane) const override { return at(lane).completed(); }
  std::string oldest(Lane lane) const override { return inner_->oldest(lane); }
  Status flush(Lane lane) override { return at(lane).flush(); }

 private:
  FaultLane& at(Lane lane) const { return *lanes_[static_cast<std::size_t>(lane)]; }

  std::unique_ptr<Transport> inner_;
  std::string name_;
  Caps caps_;
  std::vector<std::unique_ptr<FaultLane>> lanes_;
};

}  // namespace

std::unique_ptr<Transport> make_fault(std::unique_ptr<Transport> inner, const FaultSpec& spec,
                                      const TransportEnv& env) {
  return std::make_unique<FaultTransport>(std::move(inner), spec, env);
}

}  // namespace weft
