#include "host/transport/ofi/ofi.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "host/transport/agree.hpp"
#include "host/transport/network/lanes.hpp"
#include "host/transport/network/network.hpp"
#include "host/transport/ofi/lane.hpp"
#include "host/transport/ofi/service.hpp"

namespace weft {

namespace {

using ofi::Endpoint;
using ofi::Event;
using ofi::OfiLane;
using ofi::Service;
using ofi::Staging;
using ofi::Way;

constexpr Caps kCaps = {.maps = false,
                        .in_order = false,
                        .moves_sooner = true,
                        .max_bytes = Staging::kMostBytes,
                        .link = Link::kNetwork,
                        .gbps = 2,
                        .usec = 10};

class Ofi final : public network::NetworkTransport {
 public:
  explicit Ofi(const TransportEnv& env)
      : NetworkTransport("ofi", env, kCaps), staging_([this](std::byte* base, std::size_t bytes) {
          return endpoint_->fabric().add_own_memory(base, bytes);
        }) {}
  ~Ofi() override {
    service_.reset();
    if (endpoint_ != nullptr) endpoint_->finish_reads();
    drop_heaps();
    // Work that was abandoned may still be under way, to or from what is staged.
    if (endpoint_ != nullptr) endpoint_->close();
  }

  Status post(Lane lane, const Op& op) override;
  Status progress(Lane lane) override;
  std::uint64_t completed(Lane lane) const override;
  Status flush(Lane lane) override;

 private:
  Result<Blob> open() override;
  void close() override { endpoint_.reset(); }
  Status start(const std::vector<network::Peer>& peers) override;
  std::string describe() const override {
    return fmt::format("{}; {}", endpoint_->fabric().describe(),
                       endpoint_->fabric().describe_keys());
  }
  std::string why_not_to(const network::Peer& mine, const network::Peer& theirs) const override;
  Result<network::Registered> register_memory(std::byte* base, std::size_t bytes) override {
    return endpoint_->fabric().add_memory(base, bytes);
  }
  network::Registrar gpu_registrar() override;
  bool all_on_this_host() const;
  bool poll();
  void look(std::uint64_t now);

  std::unique_ptr<Endpoint> endpoint_;
  Staging staging_;
  const std::vector<network::Peer>* peers_ = nullptr;
  network::Lanes<OfiLane> lanes_;
  std::unique_ptr<Service> service_;  // last: its thread looks at the rest
};

// Without a network in between: also not that of a network namespace.
bool reach_by_loopback(const Facts& mine, const Facts& theirs) {
  return same_host(mine, theirs) && mine.netns == theirs.netns;
}

bool Ofi::all_on_this_host() const {
  if (env().facts == nullptr || env().facts->empty()) return false;
  const Facts& mine = (*env().facts)[static_cast<std::size_t>(env().pe)];
  return std::all_of(env().facts->begin(), env().facts->end(),
                     [&](const Facts& theirs) { return reach_by_loopback(mine, theirs); });
}

Result<Blob> Ofi::open() {
  ASSIGN_OR_RETURN(endpoint_, Endpoint::open(*env().options, all_on_this_host()));
  return bytes_of_value(endpoint_->fabric().way());
}

Status Ofi::start(const std::vector<network::Peer>& peers) {
  peers_ = &peers;
  own_caps().max_bytes =
      std::min<std::uint64_t>(own_caps().max_bytes, endpoint_->fabric().max_bytes());
  RETURN_IF_ERROR(
      endpoint_->start(env().pe, peers, [this](const Op& op, int from, int staging_slot) {
        return execute(op, from, staging_slot);
      }));
  service_ =
      std::make_unique<Service>(env().pe, *endpoint_,
                                Service::Work{.poll = [this] { return poll(); },
                                              .look = [this](std::uint64_t now) { look(now); }});
  return service_->start();
}

std::string Ofi::why_not_to(const network::Peer& mine, const network::Peer& theirs) const {
  const auto there = value_of<Way>(theirs.way, 0, "an address for ofi");
  if (!there.is_ok()) return std::string(there.status().text());
  const Way& here = endpoint_->fabric().way();
  if (here.protocol != there->protocol || here.format != there->format)
    return fmt::format(
        "it uses {} and this PE {}, which do not understand each other; set WEFT_OFI_PROVIDER, "
        "and WEFT_OFI_DOMAIN, so that they match",
        there->text.data(), here.text.data());
  if (reach_by_loopback(mine.facts, theirs.facts) ||
      (here.is_loopback == 0 && there->is_loopback == 0))
    return "";
  return fmt::format(
      "{} has no address that other hosts reach; give its network device one (ip address add), or "
      "name the device by WEFT_OFI_DOMAIN",
      here.is_loopback != 0 ? "this PE" : "it");
}

network::Registrar Ofi::gpu_registrar() {
  const auto refuse = [this](const auto&...) -> Result<network::Registered> {
    return Status::error(Code::kUnsupported, fmt::format("ofi asks {} for memory of hosts only",
                                                         endpoint_->fabric().describe()));
  };
  return {.by_address = refuse, .by_file = refuse};
}

Status Ofi::post(Lane lane, const Op& op) {
  RETURN_IF_ERROR(check(op));
  const auto make = [&](std::uint32_t number) {
    return std::make_unique<OfiLane>(ofi::LaneEnv{.endpoint = endpoint_.get(),
                                                  .peers = peers_,
                                                  .heaps = &heaps(),
                                                  .own = own_memory(),
                                                  .windows = &windows(),
                                                  .staging = &staging_,
                                                  .timeout = env().options->ofi_timeout},
                                     number);
  };
  return lanes_.get(lane, make).post(op);
}

Status Ofi::progress(Lane lane) {
  if (service_ == nullptr) return Status::ok();
  service_->polled();
  poll();
  OfiLane* const where = lanes_.find(lane);
  return where == nullptr ? Status::ok() : where->progress();
}

Status Ofi::flush(Lane lane) {
  if (OfiLane* const where = lanes_.find(lane); where != nullptr) where->flush();
  return Status::ok();
}

std::uint64_t Ofi::completed(Lane lane) const {
  const OfiLane* const where = lanes_.find(lane);
  return where == nullptr ? 0 : where->completed();
}

bool Ofi::poll() {
  // Not thread_local: the ends of static Runtimes poll behind the end of the thread's variables.
  std::vector<Event> events;
  const bool found = endpoint_->poll(events);
  for (const Event& event : events) {
    if (event.kind == Event::Kind::kLost)
      lanes_.for_each([&](OfiLane& lane) { lane.lose(event.pe, event.failure); });
    if (event.lane >= kTransportLanes || event.kind == Event::Kind::kLost) continue;
    if (OfiLane* const lane = lanes_.find(Lane(event.lane)); lane != nullptr) lane->take(event);
  }
  lanes_.for_each([](OfiLane& lane) { lane.push(); });
  return found;
}

void Ofi::look(std::uint64_t now) {
  lanes_.for_each([now](OfiLane& lane) { lane.look_at_clock(now); });
}

}  // namespace

std::unique_ptr<Transport> make_ofi(const TransportEnv& env) { return std::make_unique<Ofi>(env); }

Result<std::string> ofi_network(const Options& options) {
  ASSIGN_OR_RETURN(const auto fabric, ofi::Fabric::open(options, false));
  return fmt::format("{}; {}", fabric->describe(), fabric->describe_keys());
}

}  // namespace weft
