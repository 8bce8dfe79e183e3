// Takes the place of host/transport/transport.cpp in the program that links it: all PEs are reached
// through the fault injector, so that nothing is mapped and no op is done when it is posted, and
// every op is recorded.
#include <memory>
#include <mutex>

#include "host/transport/fault/fault.hpp"
#include "host/transport/transports.hpp"
#include "host/transport/transport.hpp"
#include "src/base/status.hpp"
#include "tests/compat/census/census.hpp"

namespace weft {
namespace {

std::mutex mutex;
std::vector<Op> posted;  // guarded by mutex
bool held = false;       // guarded by mutex: nothing is delivered

class Recorder final : public Transport {
 public:
  explicit Recorder(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return "recorder"; }
  const Caps& caps() const override { return inner_->caps(); }
  Result<Blob> address() override { return inner_->address(); }
  Status connect(std::span<const Blob> all) override { return inner_->connect(all); }
  bool reaches(int pe) const override { return inner_->reaches(pe); }
  std::string why_not(int pe) const override { return inner_->why_not(pe); }
  Result<Blob> expose(const Region& region) override { return inner_->expose(region); }
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                         const Blob& exposed) override {
    return inner_->attach(pe, offset, bytes, exposed);
  }
  void detach(int pe, std::uint64_t offset) override { inner_->detach(pe, offset); }
  Status check(const Op& op) const override { return inner_->check(op); }
  Status post(Lane lane, const Op& op) override {
    RETURN_IF_ERROR(inner_->post(lane, op));
    const std::lock_guard lock(mutex);
    if (op.kind != OpKind::kFence) posted.push_back(op);
    return Status::ok();
  }
  Status progress(Lane lane) override {
    const std::lock_guard lock(mutex);
    return held ? Status::ok() : inner_->progress(lane);
  }
  std::uint64_t completed(Lane lane) const override { return inner_->completed(lane); }
  Status flush(Lane lane) override { return inner_->flush(lane); }

 private:
  std::unique_ptr<Transport> inner_;
};

std::vector<Op> take_posted() {
  const std::lock_guard lock(mutex);
  return std::exchange(posted, {});
}

void hold_delivery(bool hold) {
  const std::lock_guard lock(mutex);
  held = hold;
}

const bool installed = [] {
  census::take_recorded = take_posted;
  census::hold_delivery = hold_delivery;
  return true;
}();

}  // namespace

std::span<const TransportRow> transport_registry() { return {}; }

Result<std::vector<std::unique_ptr<Transport>>> make_transports(const TransportEnv& env) {
  ASSIGN_OR_RETURN(const FaultSpec late, parse_fault_spec("late=1,seed=1"));
  std::vector<std::unique_ptr<Transport>> transports;
  for (const auto make : {make_p2p, make_loopback})
    transports.push_back(std::make_unique<Recorder>(make_fault(make(env), late, env)));
  return transports;
}

}  // namespace weft
