#include "host/transport/ib/ib.hpp"

#include <algorithm>
#include <optional>

#include "host/transport/agree.hpp"
#include "host/transport/ib/lane.hpp"
#include "host/transport/ib/service.hpp"
#include "host/transport/network/lanes.hpp"
#include "host/transport/network/network.hpp"

namespace weft {

namespace {

using ib::Dial;
using ib::IbLane;
using ib::LaneEnv;
using ib::PeAddress;
using ib::Port;
using ib::Service;
using ib::Staging;

constexpr Caps kCaps = {.maps = false,
                        .in_order = false,  // an atomic may be executed after a later put
                        .max_bytes = Staging::kMostBytes,
                        .link = Link::kNetwork,
                        .gbps = 20,
                        .usec = 2};

class Ib final : public network::NetworkTransport {
 public:
  explicit Ib(const TransportEnv& env)
      : NetworkTransport("ib", env, kCaps), staging_([this](std::byte* base, std::size_t bytes) {
          return port_->add_memory(base, bytes, IBV_ACCESS_LOCAL_WRITE);
        }) {}
  ~Ib() override {
    service_.reset();
    drop_heaps();
  }

  Status post(Lane lane, const Op& op) override;
  Status progress(Lane lane) override;
  std::uint64_t completed(Lane lane) const override;
  Status flush(Lane lane) override;

 private:
  Result<Blob> open() override;
  void close() override;
  Status start(const std::vector<network::Peer>& peers) override;
  std::string describe() const override { return port_->describe(); }
  std::string why_not_to(const network::Peer& mine, const network::Peer& theirs) const override;
  Result<network::Registered> register_memory(std::byte* base, std::size_t bytes) override;
  ib::Seat seat() const;
  bool serve(const ib::Request& request, std::uint64_t* old) const;
  void replied(const Dial& reply);

  std::optional<Port> port_;
  Staging staging_;
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
  ASSIGN_OR_RETURN(Port port, Port::open(*env().options, seat()));
  port_.emplace(std::move(port));
  ASSIGN_OR_RETURN(
      service_,
      Service::create(*port_, env().pe,
                      {.execute = [this](const ib::Request& request,
                                         std::uint64_t* old) { return serve(request, old); },
                       .replied = [this](const Dial& reply) { replied(reply); }}));
  return bytes_of_value(ib::Way{port_->address(), service_->dial_qp()});
}

void Ib::close() {
  service_.reset();
  port_.reset();
}

Status Ib::start(const std::vector<network::Peer>& peers) {
  for (const network::Peer& peer : peers) {
    ib::Way way;
    if (peer.usable) {
      ASSIGN_OR_RETURN(way, value_of<ib::Way>(peer.way, peers_.size(), "an address for ib"));
    }
    peers_.push_back({peer.facts, peer.key, way.port, way.dial_qp});
  }
  own_caps().needs_progress = true;
  service_->start(peers_);
  return Status::ok();
}

std::string Ib::why_not_to(const network::Peer&, const network::Peer& theirs) const {
  const auto there = value_of<ib::Way>(theirs.way, 0, "an address for ib");
  return there.is_ok() ? port_->why_not(there->port) : std::string(there.status().text());
}

Result<network::Registered> Ib::register_memory(std::byte* base, std::size_t bytes) {
  return port_->add_memory(base, bytes, port_->heap_access());
}

Status Ib::post(Lane lane, const Op& op) {
  RETURN_IF_ERROR(check(op));
  const auto make = [&](std::uint32_t number) {
    return std::make_unique<IbLane>(LaneEnv{.port = port_ ? &*port_ : nullptr,
                                            .peers = &peers_,
                                            .heaps = &heaps(),
                                            .service = service_.get(),
                                            .staging = &staging_,
                                            .dial_timeout = env().options->start_timeout},
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

bool Ib::serve(const ib::Request& request, std::uint64_t* old) const {
  Op op;
  op.kind = request.kind;
  op.width = request.width;
  op.remote = request.remote;
  op.value = request.value;
  op.compare = request.compare;
  op.result = reinterpret_cast<std::uint64_t>(old);
  return is_amo(op.kind) && execute(op);
}

void Ib::replied(const Dial& reply) {
  if (reply.lane >= kTransportLanes) return;
  if (IbLane* const lane = lanes_.find(Lane(reply.lane)); lane != nullptr) lane->replied(reply);
}

}  // namespace

std::unique_ptr<Transport> make_ib(const TransportEnv& env) { return std::make_unique<Ib>(env); }

Result<std::string> ib_port(const Options& options) {
  ASSIGN_OR_RETURN(const Facts facts, discover());
  ASSIGN_OR_RETURN(const Port port, Port::open(options, {facts.numa_node, 0}));
  return port.describe();
}

}  // namespace weft
