#include "src/platform/gpu/chunk.hpp"

#include "src/base/status.hpp"

namespace weft::gpu {

Result<std::shared_ptr<Chunk>> Chunk::commit(const Device& device, Range where) {
  ASSIGN_OR_RETURN(auto reservation, place_of<Reservation>(device, where));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  device.drop_kept();
  ASSIGN_OR_RETURN(auto memory, Physical::create(device, where.bytes));
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where, std::move(memory), true));
  RETURN_IF_ERROR(chunk->map());
  RETURN_IF_ERROR(device.zero(where, chunk));
  return chunk;
}

Result<std::shared_ptr<Chunk>> Chunk::open(const Device& device, const Blob& blob, Range where) {
  ASSIGN_OR_RETURN(const MemoryBlob peer, parse(blob, device, where.bytes));
  return open(device, peer, where);
}

Result<std::shared_ptr<Chunk>> Chunk::open(const Device& device, const MemoryBlob& peer,
                                           Range where) {
  ASSIGN_OR_RETURN(auto reservation, place_of<Reservation>(device, where));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  if (std::string why = device.why_not_reached(peer.gpu); !why.empty()) {
    return Status::error(Code::kUnsupported, "cannot open a peer's memory: " + why);
  }
  ASSIGN_OR_RETURN(auto memory, Physical::import(device, peer));
  std::shared_ptr<Chunk> chunk(new Chunk(std::move(reservation), where, std::move(memory), false));
  RETURN_IF_ERROR(chunk->map());
  return chunk;
}

Status Chunk::map() {
  RETURN_IF_ERROR(reservation_->map(range_, memory_->handle()));
  mapped_ = true;
  return device().allow(range_);
}

Chunk::~Chunk() {
  if (!device().driver().check_process().is_ok()) return;  // a child of fork(): the parent's
  const auto scope = Scope::try_to_enter(device());        // or none: mappings outlive a context
  if (mapped_) reservation_->unmap(range_);
}

Result<Blob> Chunk::share() {
  if (!is_mine_) {
    return Status::error(Code::kInvalidArgument,
                         "a chunk that was opened from a peer cannot be shared on; its owner can");
  }
  MemoryBlob out = describe(device(), range_.bytes);
  RETURN_IF_ERROR(memory_->share(device().way(), out));
  return pack(out);
}

}  // namespace weft::gpu
