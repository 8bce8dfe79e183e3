#include "host/transport/opened_transport.hpp"

#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft {

Result<Blob> OpenedTransport::address() {
  ASSIGN_OR_RETURN(mine_.facts, facts_of(env()));
  mine_.heap = reinterpret_cast<std::uint64_t>(env().heap.base);
  mine_.heap_bytes = env().heap.bytes;
  Blob blob(sizeof(Address));
  std::memcpy(blob.data(), &mine_, sizeof(Address));
  const Blob identity = env().platform->identity();
  blob.insert(blob.end(), identity.begin(), identity.end());
  return blob;
}

Status OpenedTransport::connect(std::span<const Blob> all) {
  if (all.size() != peers_.size())
    return Status::error(Code::kInternal, fmt::format("{}: {} addresses for {} PEs", name(),
                                                      all.size(), peers_.size()));
  const std::size_t bytes = sizeof(Address) + env().platform->identity().size();
  for (int pe = 0; pe < env().npes; ++pe) {
    Peer& peer = peers_[static_cast<std::size_t>(pe)];
    const Blob& blob = all[static_cast<std::size_t>(pe)];
    if (blob.size() != bytes)
      return Status::error(
          Code::kVersionMismatch,
          fmt::format("{}: PE {} sent an address of {} bytes, mine has {}; run the same build of "
                      "Weft on every PE",
                      name(), pe, blob.size(), bytes));
    std::memcpy(&peer.address, blob.data(), sizeof(Address));
    peer.identity.assign(blob.begin() + sizeof(Address), blob.end());
    peer.why_not = why_not_reached(pe);
    if (peer.why_not.empty() && !is_here(pe)) shares_ = true;
  }
  return Status::ok();
}

std::string OpenedTransport::why_not_reached(int pe) const {
  const Address& theirs = peer(pe).address;
  if (std::string apart = why_not_mapped(mine_.facts, theirs.facts); !apart.empty()) return apart;
  std::string other = why_not_opened(pe, peer(pe).identity);
  if (!other.empty() || theirs.heap_bytes == mine_.heap_bytes) return other;
  return fmt::format("its heap may grow to {} bytes, mine to {}; set {} to the same on every PE",
                     theirs.heap_bytes, mine_.heap_bytes, env().options->source(env().size_option));
}

Result<Blob> OpenedTransport::expose(const Region& region) {
  if (!shares_) return Blob();  // threads of one process need no handle
  return env().platform->share(region.memory);
}

Result<Mapping> OpenedTransport::attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                                        const Blob& exposed) {
  if (lies_apart(offset)) return attach_apart(pe, offset, bytes, exposed);
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

Status OpenedTransport::open_chunk(int pe, std::uint64_t offset, std::uint64_t bytes,
                                   const Blob& exposed) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  if (exposed.empty())
    return Status::error(
        Code::kInternal,
        fmt::format("{}: PE {} (process {} on {}) gave no handle for its heap at offset {:#x}",
                    name(), pe, peer.address.facts.pid, peer.address.facts.host_name(), offset));
  if (offset > env().heap.bytes || bytes > env().heap.bytes - offset)
    return Status::error(Code::kInternal,
                         fmt::format("{}: PE {} offers {} bytes at offset {:#x}, beyond the heap's "
                                     "{} bytes",
                                     name(), pe, bytes, offset, env().heap.bytes));
  ASSIGN_OR_RETURN(Platform* const platform, opener(pe, peer.identity));
  Range where{nullptr, bytes};
  if (platform->maps_where_told()) {
    if (peer.reservation.base() == nullptr) {
      ASSIGN_OR_RETURN(peer.reservation, place_of(pe, *platform));
    }
    where.base = peer.reservation.base() + offset;
  }
  peer.chunks.erase(offset);
  ASSIGN_OR_RETURN(peer.chunks[offset], platform->open(exposed, where));
  return Status::ok();
}

// A failure is that of one piece, and the peer stays in reach.
Result<Mapping> OpenedTransport::attach_apart(int pe, std::uint64_t offset, std::uint64_t bytes,
                                              const Blob& exposed) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  ASSIGN_OR_RETURN(Platform* const platform, opener(pe, peer.identity));
  ASSIGN_OR_RETURN(Memory memory, platform->open(exposed, {nullptr, bytes}));
  std::byte* const base = memory.base();
  {
    const std::lock_guard lock(apart_mutex_);
    peer.apart[offset] = std::move(memory);
  }
  map(pe, base_of(pe), offset, bytes);
  return Mapping{base_of(pe), base};
}

std::byte* OpenedTransport::address_of(int pe, std::byte* heap, std::uint64_t offset) const {
  if (!lies_apart(offset)) return heap + offset;
  const std::lock_guard lock(apart_mutex_);
  const auto& apart = peer(pe).apart;
  const auto behind = apart.upper_bound(offset);
  if (behind == apart.begin()) return nullptr;
  const auto& [begin, memory] = *std::prev(behind);
  return offset - begin < memory.bytes() ? memory.base() + (offset - begin) : nullptr;
}

void OpenedTransport::detach(int pe, std::uint64_t offset) {
  if (lies_apart(offset)) {
    const std::lock_guard lock(apart_mutex_);
    peers_[static_cast<std::size_t>(pe)].apart.erase(offset);
    return;
  }
  map(pe, base_of(pe), offset, 0);
  peers_[static_cast<std::size_t>(pe)].chunks.erase(offset);
}

}  // namespace weft
