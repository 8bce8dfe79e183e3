#include "host/transport/ib/ib.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "host/transport/agree.hpp"
#include "host/transport/ib/lane.hpp"
#include "host/transport/ib/service.hpp"
#include "host/transport/network/lanes.hpp"
#include "host/transport/network/network.hpp"

namespace weft {

namespace {

using ib::ConnectMessage;
using ib::IbLane;
using ib::LaneEnv;
using ib::PeAddress;
using ib::Rails;
using ib::Service;
using ib::Staging;

constexpr Caps kCaps = {.maps = false,
                        .in_order = false,  // an atomic may be executed after a later put
                        .max_bytes = Staging::kMostBytes,
                        .link = Link::kNetwork,
                        .gbps = 20,
                        .usec = 2};

Caps caps_of(const TransportEnv& env) {
  Caps caps = kCaps;
  caps.owns_atomics = env.options->ib_atomics == "nic" && !env.is_gpu;
  return caps;
}

// The addresses of a PE's endpoints as bytes, and back.
Blob bytes_of(const std::vector<ib::ServiceAddress>& endpoints) {
  const auto raw = std::as_bytes(std::span(endpoints));
  return Blob(raw.begin(), raw.end());
}
Result<std::vector<ib::ServiceAddress>> endpoints_of(const Blob& way, std::size_t pe) {
  constexpr std::size_t kBytes = sizeof(ib::ServiceAddress);
  std::vector<ib::ServiceAddress> endpoints;
  for (std::size_t at = 0; at < way.size(); at += kBytes) {
    const auto from = way.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = from + static_cast<std::ptrdiff_t>(std::min(kBytes, way.size() - at));
    ASSIGN_OR_RETURN(const auto endpoint,
                     value_of<ib::ServiceAddress>(Blob(from, end), pe, "an address for ib"));
    endpoints.push_back(endpoint);
  }
  return endpoints;
}

class Ib final : public network::NetworkTransport {
 public:
  explicit Ib(const TransportEnv& env)
      : NetworkTransport("ib", env, caps_of(env)),
        staging_(
            [this](std::byte* base, std::size_t bytes) { return rails_->add_own(base, bytes); }) {}
  ~Ib() override {
    service_.reset();
    drop_heaps();
  }

  Status post(Lane lane, const Op& op) override;
  Status progress(Lane lane) override;
  std::uint64_t completed(Lane lane) const override;
  std::string oldest(Lane lane) const override;
  Status flush(Lane lane) override;

 private:
  Result<Blob> open() override;
  void close() override;
  Status start(const std::vector<network::Peer>& peers) override;
  std::string describe() const override { return rails_->describe(); }
  std::string why_not_to(const network::Peer& mine, const network::Peer& theirs) const override;
  Status why_no_atomics(const std::vector<network::Peer>& peers) const override;
  Result<network::Registered> register_memory(std::byte* base, std::size_t bytes) override {
    return rails_->add_heap(base, bytes);
  }
  network::Registrar gpu_registrar() override { return rails_->gpu_registrar(); }
  ib::Seat seat() const;
  Status serve(const ib::Request& request, int from, std::uint64_t* old) const;
  void replied(const ConnectMessage& reply, std::size_t rail);

  std::optional<Rails> rails_;
  Staging staging_;
  ib::ReportedFailures reported_;
  std::vector<PeAddress> peers_;
  network::Lanes<IbLane> lanes_;
  std::unique_ptr<Service> service_;  // last: its thread looks at the rest
};

ib::Seat Ib::seat() const {
  const auto* const facts = env().facts;
  if (facts == nullptr || facts->empty()) return {};
  const auto mine = facts->begin() + env().pe;
  const auto beside_me = [&](const Facts& each) {
    return same_host(each, *mine) && each.numa_node == mine->numa_node;
  };
  return {mine->numa_node, static_cast<int>(std::count_if(facts->begin(), mine, beside_me))};
}

Result<Blob> Ib::open() {
  ASSIGN_OR_RETURN(Rails rails, Rails::open(*env().options, seat()));
  rails_.emplace(std::move(rails));
  ASSIGN_OR_RETURN(
      service_,
      Service::create(rails_->ports(), env().pe,
                      {.execute = [this](const ib::Request& request, int from,
                                         std::uint64_t* old) { return serve(request, from, old); },
                       .replied = [this](const ConnectMessage& reply,
                                         std::size_t rail) { replied(reply, rail); }}));
  return bytes_of(service_->addresses());
}

void Ib::close() {
  service_.reset();
  rails_.reset();
}

Status Ib::start(const std::vector<network::Peer>& peers) {
  for (const network::Peer& peer : peers) {
    PeAddress& known = peers_.emplace_back(PeAddress{peer.facts, peer.key, {}});
    if (peer.usable) {
      ASSIGN_OR_RETURN(known.endpoints, endpoints_of(peer.way, peers_.size() - 1));
    }
  }
  own_caps().needs_progress = true;
  return service_->start(peers_);
}

std::string Ib::why_not_to(const network::Peer&, const network::Peer& theirs) const {
  auto endpoints = endpoints_of(theirs.way, 0);
  if (!endpoints.is_ok()) return std::string(endpoints.status().text());
  return rails_->why_not({theirs.facts, theirs.key, std::move(*endpoints)});
}

// Every PE, mine too, has a port which is reached, and whose device executes atomics.
Status Ib::why_no_atomics(const std::vector<network::Peer>& peers) const {
  const network::Peer& mine = peers[static_cast<std::size_t>(env().pe)];
  for (std::size_t pe = 0; pe < peers.size(); ++pe) {
    const network::Peer& theirs = peers[pe];
    std::string why = theirs.why;
    if (theirs.usable && mine.usable) why = why_not_to(mine, theirs);
    if (theirs.usable && why.empty()) {
      ASSIGN_OR_RETURN(const auto endpoints, endpoints_of(theirs.way, pe));
      const ib::PortAddress& port = endpoints.front().port;
      if (port.atomic_cap == IBV_ATOMIC_NONE)
        why = fmt::format("the device of {} has no atomics", port.text());
    }
    if (!why.empty())
      return Status::error(
          Code::kUnsupported,
          fmt::format("WEFT_IB_ATOMICS=nic wants an RDMA port of every PE, but of PE {} on {}: {}; "
                      "mend that, or set WEFT_IB_ATOMICS=owner on all PEs",
                      pe, theirs.facts.host_name(), why));
  }
  return Status::ok();
}

Status Ib::post(Lane lane, const Op& op) {
  RETURN_IF_ERROR(check(op));
  const auto make = [&](std::uint32_t number) {
    return std::make_unique<IbLane>(LaneEnv{.rails = rails_ ? &*rails_ : nullptr,
                                            .peers = &peers_,
                                            .heaps = &heaps(),
                                            .own = own_memory(),
                                            .windows = &windows(),
                                            .service = service_.get(),
                                            .staging = &staging_,
                                            .reported = &reported_,
                                            .native_atomics = !env().is_gpu,
                                            .owns_atomics = caps().owns_atomics,
                                            .connect_timeout = env().options->start_timeout},
                                    number);
  };
  return lanes_.get(lane, make).post(op);
}

Status Ib::progress(Lane lane) {
  IbLane* const where = lanes_.find(lane);
  return where == nullptr ? Status::ok() : where->progress();
}

Status Ib::flush(Lane lane) {
  if (IbLane* const where = lanes_.find(lane); where != nullptr) where->flush();
  return Status::ok();
}

std::uint64_t Ib::completed(Lane lane) const {
  const IbLane* const where = lanes_.find(lane);
  return where == nullptr ? 0 : where->completed();
}

std::string Ib::oldest(Lane lane) const {
  const IbLane* const where = lanes_.find(lane);
  return where == nullptr ? "" : where->oldest();
}

Status Ib::serve(const ib::Request& request, int from, std::uint64_t* old) const {
  Op op;
  op.kind = request.kind;
  op.notify = request.notify;
  op.width = request.width;
  op.bytes = request.bytes;
  op.remote = request.remote;
  op.signal = request.signal;
  op.value = request.value;
  op.compare = request.compare;
  op.result = reinterpret_cast<std::uint64_t>(old);
  return execute(op, from, request.staging_slot);
}

void Ib::replied(const ConnectMessage& reply, std::size_t rail) {
  if (reply.lane >= kTransportLanes) return;
  if (IbLane* const lane = lanes_.find(Lane(reply.lane)); lane != nullptr)
    lane->replied(reply, rail);
}

}  // namespace

std::unique_ptr<Transport> make_ib(const TransportEnv& env) { return std::make_unique<Ib>(env); }

static Result<Rails> open_rails(const Options& options) {
  ASSIGN_OR_RETURN(const Facts facts, discover());
  return Rails::open(options, {facts.numa_node, 0});
}

Result<std::string> ib_port(const Options& options) {
  ASSIGN_OR_RETURN(const Rails rails, open_rails(options));
  return rails.describe();
}

Result<std::string> ib_gpu_memory(const Options& options, Platform& gpu) {
  ASSIGN_OR_RETURN(const Rails rails, open_rails(options));
  TransportEnv env;
  env.platform = &gpu;
  env.options = &options;
  ASSIGN_OR_RETURN(const auto memory, network::GpuMemory::open(env, rails.gpu_registrar()));
  return memory->describe();
}

}  // namespace weft
