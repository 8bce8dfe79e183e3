#include "host/transport/ib/ib.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "host/transport/agree.hpp"
#include "host/transport/ib/lane.hpp"
#include "host/transport/ib/service.hpp"
#include "src/base/log.hpp"

namespace weft {

namespace {

using ib::Dial;
using ib::Heaps;
using ib::IbLane;
using ib::LaneEnv;
using ib::PeAddress;
using ib::Port;
using ib::Request;
using ib::Service;
using ib::Staging;

constexpr Caps kCaps = {.maps = false,
                        .in_order = false,  // an atomic may be executed after a later put
                        .max_bytes = Staging::kMostBytes,
                        .link = Link::kNetwork,
                        .gbps = 20,
                        .usec = 2};

class Ib final : public Transport {
 public:
  explicit Ib(const TransportEnv& env)
      : env_(env), caps_(kCaps), heaps_(env_), why_not_(static_cast<std::size_t>(env.npes)) {}
  std::string_view name() const override { return "ib"; }
  const Caps& caps() const override { return caps_; }

  Result<Blob> address() override;
  Status connect(std::span<const Blob> all) override;
  bool reaches(int pe) const override { return why_not(pe).empty(); }
  std::string why_not(int pe) const override { return why_not_[static_cast<std::size_t>(pe)]; }
  Result<Blob> expose(const Region& region) override;
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                         const Blob& exposed) override;
  void detach(int pe, std::uint64_t offset) override { heaps_.remove(pe, offset); }

  Status check(const Op& op) const override;
  Status post(Lane lane, const Op& op) override;
  Status progress(Lane lane) override;
  std::uint64_t completed(Lane lane) const override;
  Status flush(Lane lane) override;

 private:
  Status open();
  ib::Seat seat() const;
  bool p2p_does(const Facts& mine, const Facts& theirs) const;
  bool nobody_needs_it() const;
  std::string why_not_to(int pe, const PeAddress& mine) const;
  bool execute(const Request& request, std::uint64_t* old) const;
  void replied(const Dial& reply);
  IbLane* lane_at(Lane lane) const {
    return lanes_[static_cast<std::size_t>(lane)].load(std::memory_order_acquire);
  }

  const TransportEnv env_;
  Caps caps_;
  std::optional<Port> port_;
  Heaps heaps_;
  Staging staging_;
  std::vector<PeAddress> peers_;
  std::vector<std::string> reasons_;  // of those who have no port
  std::vector<std::string> why_not_;
  bool needed_ = false;  // it reaches somebody
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<IbLane>> owned_;  // under mutex_
  // Made at the first post: release there, acquire in lane_at().
  std::array<std::atomic<IbLane*>, kTransportLanes> lanes_{};
  std::unique_ptr<Service> service_;  // last: its thread looks at the rest
};

bool Ib::p2p_does(const Facts& mine, const Facts& theirs) const {
  return env_.options->transports.find("p2p") != std::string::npos &&
         why_not_mapped(mine, theirs).empty();
}

bool Ib::nobody_needs_it() const {
  if (env_.facts == nullptr || env_.facts->empty()) return false;
  const auto& mine = (*env_.facts)[static_cast<std::size_t>(env_.pe)];
  return std::all_of(env_.facts->begin(), env_.facts->end(),
                     [&](const Facts& theirs) { return p2p_does(mine, theirs); });
}

ib::Seat Ib::seat() const {
  if (env_.facts == nullptr || env_.facts->empty()) return {};
  const auto mine = env_.facts->begin() + env_.pe;
  const auto beside_me = [&](const Facts& each) {
    return same_host(each, *mine) && each.numa_node == mine->numa_node;
  };
  return {mine->numa_node, static_cast<int>(std::count_if(env_.facts->begin(), mine, beside_me))};
}

Status Ib::open() {
  if (env_.is_gpu) return Status::error(Code::kUnsupported, "ib does not carry memory of GPUs");
  if (nobody_needs_it())  // a device takes its time to open
    return Status::error(Code::kUnsupported, "p2p reaches every PE of this job");
  ASSIGN_OR_RETURN(Port port, Port::open(*env_.options, seat()));
  port_.emplace(std::move(port));
  ASSIGN_OR_RETURN(
      service_,
      Service::create(*port_, env_.pe,
                      {.execute = [this](const Request& request,
                                         std::uint64_t* old) { return execute(request, old); },
                       .replied = [this](const Dial& reply) { replied(reply); }}));
  return Status::ok();
}

// A PE without a port says why, and goes on with other transports.
Result<Blob> Ib::address() {
  PeAddress mine;
  ASSIGN_OR_RETURN(mine.facts, discover());
  const Status opened = open();
  if (!opened.is_ok()) {
    LOG(kDebug, "transport", "ib: {}", opened.text());
    service_.reset();
    Blob blob = bytes_of_value(mine);
    const std::string_view text = opened.text();
    const auto* const raw = reinterpret_cast<const std::byte*>(text.data());
    blob.insert(blob.end(), raw, raw + text.size());
    return blob;
  }
  const Uuid random = random_uuid();
  std::memcpy(&mine.key, random.data(), sizeof mine.key);
  mine.port = port_->address();
  mine.dial_qp = service_->dial_qp();
  mine.usable = 1;
  return bytes_of_value(mine);
}

Status Ib::connect(std::span<const Blob> all) {
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    const std::size_t head = std::min(all[pe].size(), sizeof(PeAddress));
    const Blob record(all[pe].begin(), all[pe].begin() + static_cast<std::ptrdiff_t>(head));
    ASSIGN_OR_RETURN(const PeAddress theirs, value_of<PeAddress>(record, pe, "an address for ib"));
    peers_.push_back(theirs);
    const auto* const text = reinterpret_cast<const char*>(all[pe].data());
    reasons_.emplace_back(text + head, text + all[pe].size());
  }
  const auto& mine = peers_[static_cast<std::size_t>(env_.pe)];
  for (int pe = 0; pe < env_.npes; ++pe) {
    auto& why = why_not_[static_cast<std::size_t>(pe)];
    why = why_not_to(pe, mine);
    needed_ |= why.empty();
  }
  caps_.needs_progress = needed_;
  if (!needed_) {
    service_.reset();
    port_.reset();
    return Status::ok();
  }
  LOG(kInfo, "transport", "ib: {}", port_->describe());
  service_->start(peers_);
  return Status::ok();
}

std::string Ib::why_not_to(int pe, const PeAddress& mine) const {
  if (pe == env_.pe) return "that is this PE itself, which loopback carries";
  const auto& theirs = peers_[static_cast<std::size_t>(pe)];
  if (p2p_does(mine.facts, theirs.facts)) return "its memory can be mapped, which p2p does";
  if (mine.usable == 0) return reasons_[static_cast<std::size_t>(env_.pe)];
  if (theirs.usable == 0) return fmt::format("there, {}", reasons_[static_cast<std::size_t>(pe)]);
  return port_->why_not(theirs.port);
}

Result<Blob> Ib::expose(const Region& region) {
  if (!needed_) return Blob();
  return heaps_.add_mine(*port_, region);
}

Result<Mapping> Ib::attach(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob& exposed) {
  RETURN_IF_ERROR(heaps_.add_theirs(pe, offset, bytes, exposed));
  return Mapping{};
}

Status Ib::check(const Op& op) const {
  const bool known = op.pe < static_cast<std::uint32_t>(env_.npes);
  return check_op(op, env_.npes, known ? heaps_.extent(static_cast<int>(op.pe)) : Extent{});
}

Status Ib::post(Lane lane, const Op& op) {
  RETURN_IF_ERROR(check(op));
  IbLane* where = lane_at(lane);
  if (where == nullptr) {
    const std::lock_guard lock(mutex_);
    where = lane_at(lane);
    if (where == nullptr) {
      owned_.push_back(
          std::make_unique<IbLane>(LaneEnv{.port = port_ ? &*port_ : nullptr,
                                           .peers = &peers_,
                                           .heaps = &heaps_,
                                           .service = service_.get(),
                                           .staging = &staging_,
                                           .dial_timeout = env_.options->start_timeout},
                                   static_cast<std::uint32_t>(lane)));
      where = owned_.back().get();
      lanes_[static_cast<std::size_t>(lane)].store(where, std::memory_order_release);
    }
  }
  return where->post(op);
}

Status Ib::progress(Lane lane) {
  IbLane* const where = lane_at(lane);
  return where == nullptr ? Status::ok() : where->progress();
}

Status Ib::flush(Lane lane) {
  if (IbLane* const where = lane_at(lane); where != nullptr) where->flush();
  return Status::ok();
}

std::uint64_t Ib::completed(Lane lane) const {
  const IbLane* const where = lane_at(lane);
  return where == nullptr ? 0 : where->completed();
}

// What comes by the network is not to be trusted.
bool Ib::execute(const Request& request, std::uint64_t* old) const {
  Op op;
  op.kind = request.kind;
  op.width = request.width;
  op.remote = request.remote;
  op.result = is_fetching(op.kind) ? reinterpret_cast<std::uint64_t>(old) : 0;
  if (!is_amo(op.kind) || !check_op(op, env_.npes, heaps_.my_extent()).is_ok()) return false;
  *old = amo_at(request.kind, env_.heap.base + request.remote, request.width, request.value,
                request.compare);
  return true;
}

void Ib::replied(const Dial& reply) {
  if (reply.lane >= kTransportLanes) return;
  if (IbLane* const lane = lane_at(Lane(reply.lane)); lane != nullptr) lane->replied(reply);
}

}  // namespace

std::unique_ptr<Transport> make_ib(const TransportEnv& env) { return std::make_unique<Ib>(env); }

Result<std::string> ib_port(const Options& options) {
  ASSIGN_OR_RETURN(const Facts facts, discover());
  ASSIGN_OR_RETURN(const Port port, Port::open(options, {facts.numa_node, 0}));
  return port.describe();
}

}  // namespace weft
