#include "host/transport/p2p/p2p.hpp"

#include <cstring>
#include <map>

#include <fmt/format.h>

#include "host/topology/facts.hpp"
#include "host/transport/mapped.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

constexpr Caps kCaps = {.maps = true, .link = Link::kSharedMemory, .gbps = 20, .usec = 0.1f};

// What a PE tells the others, and behind it its platform's identity. Bytes, since both ends are one
// build (the bootstrap checks).
struct Address {
  Facts facts;
  std::uint64_t heap = 0;  // of use within one process only
  std::uint64_t heap_bytes = 0;
};

struct Peer {
  Address address;
  Blob identity;
  std::string why_not = "connect() has not run";
  Memory reservation;                      // where its heap is mapped, unless it is here or the
                                           // platform maps where it likes
  std::map<std::uint64_t, Memory> chunks;  // by offset
};

class P2p final : public MappedTransport {
 public:
  explicit P2p(const TransportEnv& env)
      : MappedTransport(env, kCaps), peers_(static_cast<std::size_t>(env.npes)) {}
  std::string_view name() const override { return "p2p"; }

  Result<Blob> address() override;
  Status connect(std::span<const Blob> all) override;
  bool reaches(int pe) const override { return peer(pe).why_not.empty(); }
  std::string why_not(int pe) const override { return peer(pe).why_not; }

  Result<Blob> expose(const Region& region) override;
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                         const Blob& exposed) override;
  void detach(int pe, std::uint64_t offset) override;

 private:
  const Peer& peer(int pe) const { return peers_[static_cast<std::size_t>(pe)]; }
  // Its heap is used where it is: by threads of one process. Each GPU has a mapping of its own.
  bool is_here(int pe) const {
    return env().platform->is_host_accessible() &&
           same_process(mine_.facts, peer(pe).address.facts);
  }
  Result<Memory> place_of(int pe) const;
  std::string why_not_reached(int pe) const;
  Status open_chunk(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob& exposed);

  Address mine_;
  std::vector<Peer> peers_;
  bool shares_ = false;  // some peer opens what I share
};

Result<Blob> P2p::address() {
  ASSIGN_OR_RETURN(mine_.facts, discover());
  mine_.heap = reinterpret_cast<std::uint64_t>(env().heap.base);
  mine_.heap_bytes = env().heap.bytes;
  Blob blob(sizeof(Address));
  std::memcpy(blob.data(), &mine_, sizeof(Address));
  const Blob identity = env().platform->identity();
  blob.insert(blob.end(), identity.begin(), identity.end());
  return blob;
}

Status P2p::connect(std::span<const Blob> all) {
  if (all.size() != peers_.size())
    return Status::error(Code::kInternal,
                         fmt::format("p2p: {} addresses for {} PEs", all.size(), peers_.size()));
  const std::size_t bytes = sizeof(Address) + env().platform->identity().size();
  for (int pe = 0; pe < env().npes; ++pe) {
    Peer& peer = peers_[static_cast<std::size_t>(pe)];
    const Blob& blob = all[static_cast<std::size_t>(pe)];
    if (blob.size() != bytes)
      return Status::error(
          Code::kVersionMismatch,
          fmt::format("p2p: PE {} sent an address of {} bytes, mine has {}; run the same build of "
                      "Weft on every PE",
                      pe, blob.size(), bytes));
    std::memcpy(&peer.address, blob.data(), sizeof(Address));
    peer.identity.assign(blob.begin() + sizeof(Address), blob.end());
    peer.why_not = why_not_reached(pe);
    if (peer.why_not.empty() && !is_here(pe)) shares_ = true;
  }
  return Status::ok();
}

std::string P2p::why_not_reached(int pe) const {
  if (pe == env().pe) return "that is this PE itself, which loopback carries";
  const Address& theirs = peer(pe).address;
  if (std::string apart = why_not_mapped(mine_.facts, theirs.facts); !apart.empty()) return apart;
  std::string other = env().platform->why_not_mapped(peer(pe).identity);
  if (!other.empty() || theirs.heap_bytes == mine_.heap_bytes) return other;
  return fmt::format("its heap may grow to {} bytes, mine to {}; set {} to the same on every PE",
                     theirs.heap_bytes, mine_.heap_bytes, env().size_option);
}

Result<Blob> P2p::expose(const Region& region) {
  if (!shares_) return Blob();  // threads of one process need no handle
  return env().platform->share(region.memory);
}

Result<Mapping> P2p::attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                            const Blob& exposed) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  auto* heap = reinterpret_cast<std::byte*>(peer.address.heap);
  if (!is_here(pe)) {
    Status opened = open_chunk(pe, offset, bytes, exposed);
    if (!opened.is_ok()) {
      peer.why_not = fmt::format("its memory could not be mapped: {}", opened.text());
      return opened;
    }
    heap = peer.chunks[offset].base() - offset;
  }
  map(pe, heap, offset, bytes);
  return Mapping{heap};
}

Status P2p::open_chunk(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob& exposed) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  if (exposed.empty())
    return Status::error(
        Code::kInternal,
        fmt::format("p2p: PE {} (process {} on {}) gave no handle for its heap at offset {:#x}", pe,
                    peer.address.facts.pid, peer.address.facts.host_name(), offset));
  if (offset > env().heap.bytes || bytes > env().heap.bytes - offset)
    return Status::error(
        Code::kInternal,
        fmt::format("p2p: PE {} offers {} bytes at offset {:#x}, beyond the heap's "
                    "{} bytes",
                    pe, bytes, offset, env().heap.bytes));
  Range where{nullptr, bytes};
  if (env().platform->maps_where_told()) {
    if (peer.reservation.base() == nullptr) {
      ASSIGN_OR_RETURN(peer.reservation, place_of(pe));
    }
    where.base = peer.reservation.base() + offset;
  }
  peer.chunks.erase(offset);
  ASSIGN_OR_RETURN(peer.chunks[offset], env().platform->open(exposed, where));
  return Status::ok();
}

Result<Memory> P2p::place_of(int pe) const {
  const std::size_t bytes = env().heap.bytes;
  const Memory& places = env().places;
  if (places.base() == nullptr) return env().platform->reserve(bytes);
  return Memory({places.base() + static_cast<std::size_t>(pe) * bytes, bytes}, places.owner());
}

void P2p::detach(int pe, std::uint64_t offset) {
  map(pe, base_of(pe), offset, 0);
  peers_[static_cast<std::size_t>(pe)].chunks.erase(offset);
}

}  // namespace

std::unique_ptr<Transport> make_p2p(const TransportEnv& env) { return std::make_unique<P2p>(env); }

}  // namespace weft
