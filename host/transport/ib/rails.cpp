#include "host/transport/ib/rails.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "host/topology/near_port.hpp"
#include "src/base/log.hpp"

namespace weft::ib {

namespace {

constexpr const char* kDevices = "/sys/class/infiniband";

Result<PortWish> parse(const std::string& text) {
  const std::size_t colon = text.find(':');
  PortWish wish{text.substr(0, colon), 0, ""};
  if (colon == std::string::npos && !text.empty()) return wish;
  if (colon != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + colon + 1, end, wish.port);
    if (error == std::errc() && at == end && wish.port > 0 && wish.port < 256) return wish;
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("\"{}\" is neither a device nor a device and a port", text));
}

// The ports that WEFT_IB_DEVICE names, in that order; none: auto.
Result<std::vector<PortWish>> parse_all(const std::string& text) {
  std::vector<PortWish> all;
  for (std::size_t at = 0; text != "auto" && at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const Result<PortWish> wish = parse(text.substr(at, comma - at));
    if (!wish.is_ok() || all.size() == kMostRails)
      return Status::error(
          Code::kInvalidArgument,
          fmt::format("WEFT_IB_DEVICE={}: auto, or up to {} of a device, or a device and a port "
                      "(mlx5_0:1,mlx5_1), is accepted{}",
                      text, kMostRails,
                      wish.is_ok() ? "" : fmt::format("; {}", wish.status().text())));
    all.push_back(*wish);
    at = comma + 1;
  }
  return all;
}

struct Chosen {
  std::vector<Port> ports;
  std::size_t first = 0;
};

// The named ports that can be used; an error if none can.
Result<Chosen> open_named(const Verbs& verbs, const std::vector<PortWish>& wishes, int rank,
                          int gid_index) {
  Chosen chosen;
  std::vector<Status> failed;
  for (const PortWish& wish : wishes) {
    Result<Port> port = Port::open(verbs, wish, gid_index);
    if (!port.is_ok()) {
      failed.push_back(port.status());
      continue;
    }
    for (const Port& other : chosen.ports)
      if (other.name() == port->name())
        return Status::error(Code::kInvalidArgument,
                             fmt::format("WEFT_IB_DEVICE names {} twice", port->name()));
    chosen.ports.push_back(std::move(*port));
  }
  if (chosen.ports.empty()) return failed.back();
  for (const Status& each : failed) LOG(kWarn, "transport", "ib: one port less: {}", each.text());
  chosen.first = static_cast<std::size_t>(rank) % chosen.ports.size();
  return chosen;
}

// The best that can be used and its equals. The library may have ports that the system does not
// list.
Result<Chosen> open_near(const Verbs& verbs, const Seat& seat, std::size_t most, int gid_index) {
  const std::vector<NicPort> there = look_at_ports();
  std::map<int, Port> ports;  // by their index in the system's list
  int level = 0, first = 0;
  for (const PortChoice& choice : near_ports(there, Place{"", seat.numa_node}, seat.rank)) {
    if (ports.size() == most || (!ports.empty() && choice.level != level)) break;
    const NicPort& wanted = there[static_cast<std::size_t>(choice.port)];
    Result<Port> port = Port::open(
        verbs, {wanted.device, wanted.port, there.size() > 1 ? choice.reason : ""}, gid_index);
    if (!port.is_ok()) continue;
    if (ports.empty()) first = choice.port;
    level = choice.level;
    ports.emplace(choice.port, std::move(*port));
  }
  Chosen chosen;
  if (ports.empty()) {
    ASSIGN_OR_RETURN(Port any, Port::open(verbs, {}, gid_index));  // or it says why none can
    chosen.ports.push_back(std::move(any));
  }
  for (auto& [index, port] : ports) {
    if (index == first) chosen.first = chosen.ports.size();
    chosen.ports.push_back(std::move(port));
  }
  return chosen;
}

}  // namespace

Result<Rails> Rails::open(const Options& options, const Seat& seat) {
  ASSIGN_OR_RETURN(const std::vector<PortWish> named, parse_all(options.ib_device));
  if (options.ib_library.empty() && ::access(kDevices, F_OK) != 0)  // asked first, since it is fast
    return Status::error(Code::kUnsupported,
                         fmt::format("this host has no RDMA device: there is no {}", kDevices));
  ASSIGN_OR_RETURN(const Verbs* const verbs, Verbs::get(options.ib_library));
  const auto gid_index = static_cast<int>(options.ib_gid_index);
  const auto most = static_cast<std::size_t>(options.ib_rails);
  Result<Chosen> chosen = named.empty() ? open_near(*verbs, seat, most, gid_index)
                                        : open_named(*verbs, named, seat.rank, gid_index);
  if (!chosen.is_ok()) return chosen.status();
  Rails rails;
  rails.ports_ = std::move(chosen->ports);
  rails.first_ = chosen->first;
  if (options.ib_atomics == "nic") rails.ports_.front().own_atomics();
  return rails;
}

std::size_t Rails::to(const PeAddress& peer) const {
  const std::size_t both = std::min(ports_.size(), peer.endpoints.size());
  std::size_t count = 0;
  while (count < both && ports_[count].why_not(peer.endpoints[count].port).empty()) ++count;
  return count;
}

std::string Rails::why_not(const PeAddress& peer) const {
  return peer.endpoints.empty() ? "it has no port" : ports_[0].why_not(peer.endpoints[0].port);
}

std::string Rails::describe() const {
  std::string all;
  for (const Port& port : ports_) all += (all.empty() ? "" : ", and ") + port.describe();
  return all;
}

template <class Make>
Result<network::Registered> Rails::add(const std::byte* base, Make make) const {
  auto regions = std::make_shared<std::vector<Handle<ibv_mr>>>();
  network::Registered made;
  made.address = reinterpret_cast<std::uint64_t>(base);
  for (std::size_t rail = 0; rail < ports_.size(); ++rail) {
    ASSIGN_OR_RETURN(Handle<ibv_mr> region, make(ports_[rail]));
    made.keys[rail] = region->rkey;
    made.local_keys[rail] = region->lkey;
    regions->push_back(std::move(region));
  }
  made.hold = std::move(regions);
  return made;
}

Result<network::Registered> Rails::add_own(std::byte* base, std::size_t bytes) const {
  return add(
      base, [=](const Port& port) { return port.add_memory(base, bytes, IBV_ACCESS_LOCAL_WRITE); });
}

Result<network::Registered> Rails::add_heap(std::byte* base, std::size_t bytes) const {
  return add(base,
             [=](const Port& port) { return port.add_memory(base, bytes, port.heap_access()); });
}

network::Registrar Rails::gpu_registrar() const {
  constexpr int kReachedByOthers =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return {.by_address =
              [this](std::byte* base, std::size_t bytes) {
                return add(base, [=](const Port& port) {
                  return port.add_memory(base, bytes, kReachedByOthers);
                });
              },
          .by_file =
              [this](const Dmabuf& file, Range memory) {
                return add(memory.base, [&](const Port& port) {
                  return port.add_file(file, memory, kReachedByOthers);
                });
              }};
}

}  // namespace weft::ib
