#include "host/transport/network/network.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "host/transport/agree.hpp"
#include "host/transport/network/random_key.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::network {

namespace {

// By the bootstrap, once; behind it the way, or why there is none.
struct Head {
  Facts facts;
  std::uint64_t key = 0;
  std::uint64_t usable = 0;
  Windows::Place window;
};

Result<Peer> peer_of(const Blob& blob, std::size_t pe, std::string_view name) {
  const auto middle =
      blob.begin() + static_cast<std::ptrdiff_t>(std::min(blob.size(), sizeof(Head)));
  ASSIGN_OR_RETURN(const Head head, value_of<Head>(Blob(blob.begin(), middle), pe,
                                                   fmt::format("an address for {}", name)));
  Peer peer{head.facts, head.key, head.usable != 0, head.window, {}, {}};
  if (peer.usable)
    peer.way.assign(middle, blob.end());
  else
    peer.why.assign(reinterpret_cast<const char*>(blob.data()) + sizeof(Head),
                    blob.size() - sizeof(Head));
  return peer;
}

}  // namespace

// Whether PEs reach each other without a network.
bool NetworkTransport::others_do(const Facts& mine, const Facts& theirs) const {
  return env_.host_is_served && why_not_mapped(mine, theirs).empty();
}

bool NetworkTransport::nobody_needs_it() const {
  if (caps_.owns_atomics) return false;
  if (env_.facts == nullptr || env_.facts->empty()) return false;
  const auto& mine = (*env_.facts)[static_cast<std::size_t>(env_.pe)];
  return std::all_of(env_.facts->begin(), env_.facts->end(),
                     [&](const Facts& theirs) { return others_do(mine, theirs); });
}

Result<Blob> NetworkTransport::open_if_needed() {
  if (nobody_needs_it())  // a device takes its time to open
    return Status::error(Code::kUnsupported, env_.is_gpu
                                                 ? "all PEs of this job are on one host"
                                                 : "all PEs of this job map each other's memory");
  ASSIGN_OR_RETURN(Blob way, open());
  if (env_.is_gpu) RETURN_IF_ERROR(open_gpu_memory());
  return way;
}

Status NetworkTransport::open_gpu_memory() {
  ASSIGN_OR_RETURN(gpu_, GpuMemory::open(env_, gpu_registrar()));
  if (gpu_->way() != GpuWay::kStaged) return Status::ok();
  const auto by_address = [this](std::byte* base, std::size_t bytes) {
    return register_memory(base, bytes);
  };
  ASSIGN_OR_RETURN(window_, windows_.open(*env_.platform, by_address));
  return Status::ok();
}

void NetworkTransport::drop_heaps() {
  heaps_.clear();
  windows_.close();
}

std::string NetworkTransport::describe_all() const {
  return gpu_ == nullptr ? describe() : fmt::format("{}; {}", describe(), gpu_->describe());
}

// A PE that cannot use the network says why, and goes on with other transports.
Result<Blob> NetworkTransport::address() {
  Head head;
  ASSIGN_OR_RETURN(head.facts, facts_of(env_));
  const Result<Blob> way = open_if_needed();
  if (!way.is_ok()) {
    LOG(kDebug, "transport", "{}: {}", name_, way.status().text());
    drop_heaps();
    close();
    Blob blob = bytes_of_value(head);
    const std::string_view text = way.status().text();
    const auto* const raw = reinterpret_cast<const std::byte*>(text.data());
    blob.insert(blob.end(), raw, raw + text.size());
    return blob;
  }
  head.key = random_key();
  head.usable = 1;
  head.window = window_;
  Blob blob = bytes_of_value(head);
  blob.insert(blob.end(), way->begin(), way->end());
  return blob;
}

Status NetworkTransport::connect(std::span<const Blob> all) {
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    ASSIGN_OR_RETURN(Peer peer, peer_of(all[pe], pe, name_));
    windows_.know(static_cast<int>(pe), peer.window);
    if (peer.window.bytes != 0)
      caps_.max_bytes = std::min<std::uint64_t>(caps_.max_bytes, windows_.staging_slot_bytes());
    peers_.push_back(std::move(peer));
  }
  for (int pe = 0; pe < env_.npes; ++pe) {
    auto& why = why_not_[static_cast<std::size_t>(pe)];
    why = why_not_reached(pe);
    needed_ |= why.empty();
  }
  if (caps_.owns_atomics) RETURN_IF_ERROR(why_no_atomics(peers_));
  needed_ |= caps_.owns_atomics;
  if (!needed_) {
    drop_heaps();
    close();
    return Status::ok();
  }
  LOG(kInfo, "transport", "{}: {}", name_, describe_all());
  return start(peers_);
}

std::string NetworkTransport::why_not_reached(int pe) const {
  if (pe == env_.pe) return kIsThisPe;
  const auto& mine = peers_[static_cast<std::size_t>(env_.pe)];
  const auto& theirs = peers_[static_cast<std::size_t>(pe)];
  if (!env_.is_gpu && others_do(mine.facts, theirs.facts))
    return "its memory can be mapped, which needs no network";
  if (!mine.usable) return mine.why;
  if (!theirs.usable) return fmt::format("there, {}", theirs.why);
  return why_not_to(mine, theirs);
}

std::string NetworkTransport::way_to(int pe) const {
  if (gpu_ == nullptr) return "";
  return windows_.serves(pe) ? "by memory of its host" : "straight to its GPU";
}

Result<Blob> NetworkTransport::expose(const Region& region) {
  if (!needed_) return Blob();
  const Range chunk = region.memory.range();
  ASSIGN_OR_RETURN(Registered memory,
                   gpu_ != nullptr ? gpu_->add(chunk) : register_memory(chunk.base, chunk.bytes));
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

Status NetworkTransport::execute(Op op, int from, int staging_slot) const {
  op.pe = static_cast<std::uint32_t>(env_.pe);
  if (staging_slot != Windows::kNoStagingSlot)
    op.local =
        reinterpret_cast<std::uint64_t>(windows_.staging_slot_of(from, staging_slot, op.bytes));
  RETURN_IF_ERROR(check_op(op, env_.npes, heaps_.my_extent()));
  if (gpu_ == nullptr) {
    apply_op(op, env_.heap.base);
    return Status::ok();
  }
  const std::uint64_t bytes = is_amo(op.kind) ? op.width : op.bytes;
  std::byte* const target = heaps_.find_mine(op.remote, bytes);
  std::byte* const signal = heaps_.find_mine(op.signal, sizeof op.value);
  if ((bytes != 0 && target == nullptr) || (op.notify != NotifyOp::kNone && signal == nullptr))
    return Status::error(Code::kOutOfRange, "it was adopted memory, and is no longer");
  return gpu_->execute(op, target, signal);
}

}  // namespace weft::network
