#include "src/platform/gpu/adoption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "src/base/status.hpp"
#include "src/platform/gpu/block.hpp"
#include "src/platform/gpu/chunk.hpp"
#include "src/platform/gpu/memory_blob.hpp"
#include "src/platform/gpu/peer_block.hpp"
#include "src/platform/gpu/reservation.hpp"

namespace weft::gpu {
namespace {

// The head of what share() tells, before a MemoryBlob for each allocation.
struct PieceBlob {
  static constexpr std::uint64_t kMagic = 0x3130'6563'6569'7077;
  std::uint64_t magic = kMagic;
  std::uint64_t bytes = 0;
  std::uint64_t lead = 0;  // how far into the first allocation the piece begins
};

// Chunks beside one another that were opened for one piece.
class OpenedPiece final : public cpu::Owned {
 public:
  explicit OpenedPiece(std::vector<std::shared_ptr<Chunk>> chunks) : chunks_(std::move(chunks)) {}

 private:
  std::vector<std::shared_ptr<Chunk>> chunks_;
};

std::size_t total(const std::vector<MemoryBlob>& parts) {
  std::size_t bytes = 0;
  for (const MemoryBlob& part : parts) bytes += part.bytes;
  return bytes;
}

Result<std::vector<MemoryBlob>> parse(const Blob& blob, const Device& device, std::size_t want,
                                      PieceBlob& piece) {
  if (blob.size() > sizeof piece) std::memcpy(&piece, blob.data(), sizeof piece);
  const std::size_t rest = blob.size() - sizeof piece;
  std::vector<MemoryBlob> parts(rest / sizeof(MemoryBlob));
  if (rest % sizeof(MemoryBlob) == 0) std::memcpy(parts.data(), blob.data() + sizeof piece, rest);
  const bool is_well = rest % sizeof(MemoryBlob) == 0 && !parts.empty() &&
                       parts[0].magic == MemoryBlob::kMagic &&
                       parts[0].kind == device.driver().kind() && piece.bytes == want &&
                       piece.lead <= total(parts) && want <= total(parts) - piece.lead &&
                       (parts[0].way != Way::kIpc || parts.size() == 1);
  if (is_well) return parts;
  return Status::error(
      Code::kInvalidArgument,
      fmt::format("{} bytes that do not describe {} bytes of adopted memory of a GPU of {}; do all "
                  "PEs run the same build of Weft, on the same platform?",
                  blob.size(), want, device.driver().words().vendor));
}

// Mapped in an address space of its own.
Result<Memory> open_mapped(const Device& device, const std::vector<MemoryBlob>& parts,
                           const PieceBlob& piece) {
  ASSIGN_OR_RETURN(const auto space, Reservation::create(device, total(parts)));
  std::vector<std::shared_ptr<Chunk>> chunks;
  std::byte* at = space->range().base;
  for (const MemoryBlob& part : parts) {
    ASSIGN_OR_RETURN(auto chunk, Chunk::open(device, part, {at, part.bytes}));
    chunks.push_back(std::move(chunk));
    at += part.bytes;
  }
  std::shared_ptr<cpu::Owned> owner = std::make_shared<OpenedPiece>(std::move(chunks));
  return Memory({space->range().base + piece.lead, piece.bytes}, std::move(owner));
}

// Between threads of a process the address is good for every GPU that reaches the memory, as long
// as its owner keeps it.
Result<Memory> open_allocated(const Device& device, const MemoryBlob& part,
                              const PieceBlob& piece) {
  if (std::string why = device.why_not_reached(part.gpu); !why.empty())
    return Status::error(Code::kUnsupported, "cannot open a peer's memory: " + why);
  if (part.process == process_uuid()) {
    if (part.gpu != device.identity()) RETURN_IF_ERROR(device.reach(part.home));
    return Memory({abi::address(part.base + piece.lead), piece.bytes}, nullptr);
  }
  ASSIGN_OR_RETURN(auto block, PeerBlock::open(device, part.token));
  std::byte* const base = abi::address(block->memory() + piece.lead);
  return Memory({base, piece.bytes}, std::shared_ptr<cpu::Owned>(std::move(block)));
}

bool is_in_a_heap(Range own) {
  const Range first{own.base, 1};
  return ReservationRegistry<Reservation>::get().containing(first) != nullptr ||
         ReservationRegistry<Block>::get().containing(first) != nullptr;
}

}  // namespace

Status Adoption::refuse(const std::string& why) const {
  return Status::error(Code::kInvalidArgument, fmt::format("{} bytes at {} cannot be adopted: {}",
                                                           own_.bytes, fmt::ptr(own_.base), why));
}

Result<std::shared_ptr<Adoption>> Adoption::make(const Device& device, Range own) {
  auto made = std::make_shared<Adoption>(device, own);
  if (own.bytes == 0 || abi::pointer(own.base) % kAlign != 0)
    return made->refuse(
        fmt::format("a piece of GPU memory begins at a multiple of {} bytes, and "
                    "has some",
                    kAlign));
  if (is_in_a_heap(own)) return made->refuse("they are symmetric already, being in a heap");
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  const int owner = device.driver().owner_of(own.base);
  if (owner < 0) return made->refuse("they are not memory of a GPU; were they freed?");
  if (owner != device.ordinal())
    return made->refuse(
        fmt::format("they are memory of GPU {}, and this PE uses {}: allocate them "
                    "there, or choose the other one ({}, or WEFT_GPU)",
                    owner, device.describe(), device.driver().words().choose));
  if (device.driver().is_managed(own.base))
    return made->refuse("they are managed memory, which no peer can map; allocate them otherwise");
  const Status mapped = made->find_mapped();
  if (mapped.is_ok()) return made;
  made->segments_.clear();
  const Status allocated = made->find_allocated();
  if (allocated.is_ok()) return made;
  return made->refuse(fmt::format("{}; and not by IPC handles: {}. Peers can map memory of {}",
                                  mapped.text(), allocated.text(),
                                  device.driver().words().sharable));
}

Result<Range> Adoption::allocation_at(const std::byte* address) const {
  abi::Pointer base = 0;
  std::size_t bytes = 0;
  RETURN_IF_ERROR(
      device_.check(device_.call().address_range(&base, &bytes, abi::pointer(address)),
                    fmt::format("find the allocation that {} lies in", fmt::ptr(address))));
  return Range{abi::address(base), bytes};
}

// The device's own way, if the memory allows it, so that what works for the heap works here.
Status Adoption::find_mapped() {
  if (device_.way() == Way::kIpc)
    return Status::error(Code::kUnsupported,
                         "this driver does not share what is mapped by handles");
  const std::byte* const end = own_.base + own_.bytes;
  for (std::byte* at = own_.base; at < end;) {
    Segment segment;
    ASSIGN_OR_RETURN(segment.memory, Physical::retain(device_, at));
    ASSIGN_OR_RETURN(const abi::AllocationProperties how, segment.memory->properties());
    const auto allows = [&](Way way) {
      return (static_cast<unsigned>(how.handle_types) & static_cast<unsigned>(way)) != 0;
    };
    segment.way = allows(device_.way()) ? device_.way()
                  : allows(Way::kFd)    ? Way::kFd
                                        : Way::kFabric;
    if (!allows(segment.way))
      return Status::error(Code::kUnsupported, "it was created as memory of one process only");
    ASSIGN_OR_RETURN(segment.allocation, allocation_at(at));
    at = segment.allocation.base + segment.allocation.bytes;
    segments_.push_back(std::move(segment));
  }
  return Status::ok();
}

Status Adoption::find_allocated() {
  Segment segment;
  ASSIGN_OR_RETURN(segment.allocation, allocation_at(own_.base));
  const Range all = segment.allocation;
  if (own_.bytes > all.bytes - static_cast<std::size_t>(own_.base - all.base))
    return Status::error(Code::kOutOfRange,
                         fmt::format("they run past the end of the allocation that they start in, "
                                     "{} bytes at {}",
                                     all.bytes, fmt::ptr(all.base)));
  RETURN_IF_ERROR(device_.check(device_.call().ipc_get(&segment.token, abi::pointer(all.base)),
                                "share an allocation with other processes"));
  segment.id = device_.driver().buffer_id(own_.base);
  segments_.push_back(std::move(segment));
  return Status::ok();
}

bool Adoption::is_current() const {
  const auto scope = Scope::enter(device_);
  return scope && std::all_of(segments_.begin(), segments_.end(),
                              [this](const Segment& segment) { return is_current(segment); });
}

// Memory that is mapped by handles is known by its handle, since a driver may give the addresses of
// a reservation the same id whatever is mapped there.
bool Adoption::is_current(const Segment& segment) const {
  if (segment.memory != nullptr) return segment.memory->is_at(segment.allocation.base);
  return segment.id == device_.driver().buffer_id(own_.base);
}

Result<Blob> Adoption::share() {
  PieceBlob piece;
  piece.bytes = own_.bytes;
  piece.lead = static_cast<std::size_t>(own_.base - segments_[0].allocation.base);
  Blob blob(sizeof piece);
  std::memcpy(blob.data(), &piece, sizeof piece);
  for (const Segment& segment : segments_) {
    MemoryBlob part = describe(device_, segment.allocation.bytes);
    part.way = segment.way;
    part.base = abi::pointer(segment.allocation.base);
    part.token = segment.token;
    if (segment.memory != nullptr) RETURN_IF_ERROR(segment.memory->share(segment.way, part));
    const Blob packed = pack(part);
    blob.insert(blob.end(), packed.begin(), packed.end());
  }
  return blob;
}

bool Adoption::is_shared_by(const Blob& blob) {
  std::uint64_t magic = 0;
  if (blob.size() > sizeof(PieceBlob)) std::memcpy(&magic, blob.data(), sizeof magic);
  return magic == PieceBlob::kMagic;
}

Result<Memory> Adoption::open(const Device& device, const Blob& blob, std::size_t bytes) {
  PieceBlob piece;
  ASSIGN_OR_RETURN(const std::vector<MemoryBlob> parts, parse(blob, device, bytes, piece));
  return parts[0].way == Way::kIpc ? open_allocated(device, parts[0], piece)
                                   : open_mapped(device, parts, piece);
}

}  // namespace weft::gpu
