#include "host/transport/network/network.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "host/transport/agree.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::network {

namespace {

// By the bootstrap, once; behind it the way, or why there is none.
struct Head {
  Facts facts;
  std::uint64_t key = 0;
  std::uint64_t usable = 0;
};

Result<Peer> peer_of(const Blob& blob, std::size_t pe, std::string_view name) {
  const auto middle =
      blob.begin() + static_cast<std::ptrdiff_t>(std::min(blob.size(), sizeof(Head)));
  ASSIGN_OR_RETURN(const Head head, value_of<Head>(Blob(blob.begin(), middle), pe,
                                                   fmt::format("an address for {}", name)));
  Peer peer{head.facts, head.key, head.usable != 0, {}, {}};
  if (peer.usable)
    peer.way.assign(middle, blob.end());
  else
    peer.why.assign(reinterpret_cast<const char*>(blob.data()) + sizeof(Head),
                    blob.size() - sizeof(Head));
  return peer;
}

}  // namespace

bool NetworkTransport::p2p_does(const Facts& mine, const Facts& theirs) const {
  return env_.options->transports.find("p2p") != std::string::npos &&
         why_not_mapped(mine, theirs).empty();
}

bool NetworkTransport::nobody_needs_it() const {
  if (env_.facts == nullptr || env_.facts->empty()) return false;
  const auto& mine = (*env_.facts)[static_cast<std::size_t>(env_.pe)];
  return std::all_of(env_.facts->begin(), env_.facts->end(),
                     [&](const Facts& theirs) { return p2p_does(mine, theirs); });
}

Result<Blob> NetworkTransport::open_if_needed() {
  if (env_.is_gpu)
    return Status::error(Code::kUnsupported,
                         fmt::format("{} does not carry memory of GPUs", name_));
  if (nobody_needs_it())  // a device takes its time to open
    return Status::error(Code::kUnsupported, "p2p reaches every PE of this job");
  return open();
}

// A PE that cannot use the network says why, and goes on with other transports.
Result<Blob> NetworkTransport::address() {
  Head head;
  ASSIGN_OR_RETURN(head.facts, facts_of(env_));
  const Result<Blob> way = open_if_needed();
  if (!way.is_ok()) {
    LOG(kDebug, "transport", "{}: {}", name_, way.status().text());
    close();
    Blob blob = bytes_of_value(head);
    const std::string_view text = way.status().text();
    const auto* const raw = reinterpret_cast<const std::byte*>(text.data());
    blob.insert(blob.end(), raw, raw + text.size());
    return blob;
  }
  const Uuid random = random_uuid();
  std::memcpy(&head.key, random.data(), sizeof head.key);
  head.usable = 1;
  Blob blob = bytes_of_value(head);
  blob.insert(blob.end(), way->begin(), way->end());
  return blob;
}

Status NetworkTransport::connect(std::span<const Blob> all) {
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(Peer peer, peer_of(all[pe], pe, name_));
    peers_.push_back(std::move(peer));
  }
  for (int pe = 0; pe < env_.npes; ++pe) {
    auto& why = why_not_[static_cast<std::size_t>(pe)];
    why = why_not_reached(pe);
    needed_ |= why.empty();
  }
  if (!needed_) {
    close();
    return Status::ok();
  }
  LOG(kInfo, "transport", "{}: {}", name_, describe());
  return start(peers_);
}

std::string NetworkTransport::why_not_reached(int pe) const {
  if (pe == env_.pe) return "that is this PE itself, which loopback carries";
  const auto& mine = peers_[static_cast<std::size_t>(env_.pe)];
  const auto& theirs = peers_[static_cast<std::size_t>(pe)];
  if (p2p_does(mine.facts, theirs.facts)) return "its memory can be mapped, which p2p does";
  if (!mine.usable) return mine.why;
  if (!theirs.usable) return fmt::format("there, {}", theirs.why);
  return why_not_to(mine, theirs);
}

Result<Blob> NetworkTransport::expose(const Region& region) {
  if (!needed_) return Blob();
  ASSIGN_OR_RETURN(Registered memory, register_memory(region.memory.base(), region.memory.bytes()));
  return heaps_.add_mine(region, std::move(memory));
}

Result<Mapping> NetworkTransport::attach(int pe, std::uint64_t offset, std::uint64_t bytes,
                                         const Blob& exposed) {
  RETURN_IF_ERROR(heaps_.add_theirs(pe, offset, bytes, exposed));
  return Mapping{};
}

Status NetworkTransport::check(const Op& op) const {
  const bool known = op.pe < static_cast<std::uint32_t>(env_.npes);
  return check_op(op, env_.npes, known ? heaps_.extent(static_cast<int>(op.pe)) : Extent{});
}

bool NetworkTransport::execute(const Op& op) const {
  if (!check_op(op, env_.npes, heaps_.my_extent()).is_ok()) return false;
  apply_op(op, env_.heap.base);
  return true;
}

}  // namespace weft::network
