// OpenedTransport: what p2p and staged have in common. PEs of this host hand me their chunks
// (Platform::share), and I open them in one reservation per peer, so that the peer's offset 0 has
// one address for ever.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "host/topology/facts.hpp"
#include "host/transport/mapped_transport.hpp"

namespace weft {

class OpenedTransport : public MappedTransport {
 public:
  Result<Blob> address() override;
  Status connect(std::span<const Blob> all) override;
  bool reaches(int pe) const override { return peer(pe).why_not.empty(); }
  std::string why_not(int pe) const override { return peer(pe).why_not; }

  Result<Blob> expose(const Region& region) override;
  Result<Mapping> attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                         const Blob& exposed) override;
  void detach(int pe, std::uint64_t offset) override;

 protected:
  OpenedTransport(const TransportEnv& env, const Caps& caps)
      : MappedTransport(env, caps), peers_(static_cast<std::size_t>(env.npes)) {}

  // Why the memory of a PE of this host cannot be used, as far as can be told without opening it;
  // `identity` is that of its platform.
  virtual std::string why_not_opened(int pe, const Blob& identity) const = 0;
  // The platform whose open() takes its chunks, asked before each; and a reservation for them all.
  virtual Result<Platform*> opener(int pe, const Blob& identity) = 0;
  virtual Result<Memory> place_of(int pe, Platform& opener) const = 0;
  // Where the offset of a PE lies whose heap is mapped at `heap`; null: it was adopted, and is no
  // longer.
  std::byte* address_of(int pe, std::byte* heap, std::uint64_t offset) const;

 private:
  // A PE sends this to the others, and behind it its platform's identity. Bytes, since both ends
  // are one build (the bootstrap checks).
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
    std::map<std::uint64_t, Memory> apart;   // the same, of what lies apart; under apart_mutex_
  };

  const Peer& peer(int pe) const { return peers_[static_cast<std::size_t>(pe)]; }
  // Its heap is used where it is: by threads of one process. Each GPU has a mapping of its own.
  bool is_here(int pe) const {
    return env().platform->is_host_accessible() &&
           same_process(mine_.facts, peer(pe).address.facts);
  }
  std::string why_not_reached(int pe) const;
  Status open_chunk(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob& exposed);
  Result<Mapping> attach_apart(int pe, std::uint64_t offset, std::uint64_t bytes,
                               const Blob& exposed);

  Address mine_;
  std::vector<Peer> peers_;
  bool shares_ = false;  // some peer opens what I share
  mutable std::mutex apart_mutex_;
};

}  // namespace weft
