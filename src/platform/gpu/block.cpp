#include "src/platform/gpu/block.hpp"

#include <fmt/format.h>

#include <utility>

#include "src/base/round_up.hpp"
#include "src/base/status.hpp"
#include "src/platform/cpu/available_memory.hpp"
#include "src/platform/gpu/memory_blob.hpp"
#include "src/platform/gpu/peer_block.hpp"

namespace weft::gpu {
namespace {

using Registry = ReservationRegistry<Block>;

// Opens memory of a thread of this process: its addresses are good here, if the GPU reaches them.
Result<Memory> open_here(const Device& device, const MemoryBlob& peer) {
  const Range range{abi::address(peer.base + peer.offset), peer.bytes};
  ASSIGN_OR_RETURN(auto block, containing<Block>(range));
  if (&block->device() != &device) RETURN_IF_ERROR(device.reach(peer.home));
  return Memory(range, std::shared_ptr<cpu::Owned>(std::move(block)));
}

}  // namespace

Result<std::shared_ptr<Block>> Block::create(const Device& device, std::size_t bytes) {
  if (bytes == 0 || bytes > SIZE_MAX / 2)
    return Status::error(Code::kInvalidArgument,
                         fmt::format("cannot take {} bytes of GPU memory", bytes));
  bytes = round_up(bytes, kReserveAlign);
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  abi::Pointer memory = 0;
  // With room for the alignment, which drivers do not promise.
  const auto made = device.driver().allocate(&memory, bytes + kReserveAlign);
  if (made.error == abi::Error::kOutOfMemory)
    return device.no_room(made, bytes, "WEFT_GPU_HEAP_SIZE");
  RETURN_IF_ERROR(device.check(made, fmt::format("take {}", cpu::show_bytes(bytes))));
  const abi::Pointer base = round_up(memory, kReserveAlign);
  auto block = std::make_shared<Block>(device, memory, Range{abi::address(base), bytes});
  Registry::get().add(block);
  return block;
}

Block::~Block() {
  Registry::get().remove(*this);
  if (const auto scope = Scope::to_release(device_))
    device_.warn(device_.call().free(memory_),
                 fmt::format("give back {} bytes of memory", range_.bytes));
}

Status Block::take(Range part) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(taken_.check_free(part));
  taken_.add(part);
  return Status::ok();
}

void Block::give_back(Range part) {
  const std::lock_guard lock(mutex_);
  taken_.remove(part);
}

Result<std::shared_ptr<Part>> Part::commit(const Device& device, Range where) {
  ASSIGN_OR_RETURN(auto block, place_of<Block>(device, where));
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  device.drop_kept();
  RETURN_IF_ERROR(block->take(where));
  auto part = std::make_shared<Part>(std::move(block), where);
  RETURN_IF_ERROR(device.zero(where, part));
  return part;
}

Result<Blob> Part::share() {
  const Device& device = block_->device();
  ASSIGN_OR_RETURN(const Scope scope, Scope::enter(device));
  MemoryBlob out = describe(device, range_.bytes);
  out.base = block_->memory();
  out.offset = abi::pointer(range_.base) - block_->memory();
  RETURN_IF_ERROR(device.check(device.call().ipc_get(&out.token, block_->memory()),
                               "share memory with other processes"));
  return pack(out);
}

Result<Memory> Part::open(const Device& device, const Blob& blob, std::size_t bytes) {
  ASSIGN_OR_RETURN(const MemoryBlob peer, parse(blob, device, bytes));
  if (std::string why = device.why_not_reached(peer.gpu); !why.empty()) {
    return Status::error(Code::kUnsupported, "cannot open a peer's memory: " + why);
  }
  if (peer.process == process_uuid()) return open_here(device, peer);
  ASSIGN_OR_RETURN(auto block, PeerBlock::open(device, peer.token));
  std::byte* const base = abi::address(block->memory() + peer.offset);
  return Memory({base, bytes}, std::shared_ptr<cpu::Owned>(std::move(block)));
}

}  // namespace weft::gpu
