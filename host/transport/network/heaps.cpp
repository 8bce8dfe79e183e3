#include "host/transport/network/heaps.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "host/transport/agree.hpp"

namespace weft::network {

Blob Heaps::add_mine(const Region& region, Registered memory) {
  const Shared shared{memory.address, region.memory.bytes(), memory.keys};
  const std::lock_guard lock(mutex_);
  mine_.insert_or_assign(reinterpret_cast<std::uint64_t>(region.memory.base()),
                         Mine{region.offset, shared.bytes, std::move(memory)});
  set_end(my_ends_, region.offset, shared.bytes);
  return bytes_of_value(shared);
}

Status Heaps::add_theirs(int pe, std::uint64_t offset, std::uint64_t bytes, const Blob& exposed) {
  ASSIGN_OR_RETURN(const Shared shared,
                   value_of<Shared>(exposed, static_cast<std::size_t>(pe), "a chunk of its heap"));
  if (shared.bytes != bytes)
    return Status::error(Code::kInternal,
                         fmt::format("{}: PE {} offers {} bytes at heap offset {:#x}, not {}",
                                     network_, pe, shared.bytes, offset, bytes));
  const std::lock_guard lock(mutex_);
  theirs_[static_cast<std::size_t>(pe)][offset] = shared;
  set_end(ends_[static_cast<std::size_t>(pe)], offset, bytes);
  return Status::ok();
}

void Heaps::remove(int pe, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  if (theirs_[static_cast<std::size_t>(pe)].erase(offset) != 0)
    set_end(ends_[static_cast<std::size_t>(pe)], offset, 0);
  if (std::erase_if(mine_, [&](const auto& each) { return each.second.offset == offset; }) != 0)
    set_end(my_ends_, offset, 0);
}

void Heaps::clear() {
  const std::lock_guard lock(mutex_);
  mine_.clear();
}

void Heaps::set_end(Ends& ends, std::uint64_t offset, std::uint64_t bytes) {
  auto& end = offset < env_.adopted_at ? ends.heap : ends.adopted;
  end.store(offset + bytes, std::memory_order_release);  // pairs with the acquire in extent_of
}

Extent Heaps::extent_of(const Ends& ends) const {
  return {.heap = ends.heap.load(std::memory_order_acquire),
          .adopted_at = env_.adopted_at,
          .adopted_end = ends.adopted.load(std::memory_order_acquire)};
}

bool Heaps::find(int pe, std::uint64_t offset, std::uint64_t bytes, std::vector<There>& parts,
                 std::size_t rail) const {
  const std::shared_lock lock(mutex_);
  const auto& chunks = theirs_[static_cast<std::size_t>(pe)];
  auto chunk = chunks.upper_bound(offset);
  if (chunk == chunks.begin()) return bytes == 0;
  --chunk;
  while (bytes != 0) {
    if (chunk == chunks.end() || offset < chunk->first ||
        offset - chunk->first >= chunk->second.bytes)
      return false;
    const std::uint64_t skip = offset - chunk->first;
    const std::uint64_t part = std::min(bytes, chunk->second.bytes - skip);
    parts.push_back({chunk->second.address + skip, chunk->second.keys[rail], part});
    offset += part;
    bytes -= part;
    ++chunk;
  }
  return true;
}

// All but what was adopted, and lies where it did, is one piece.
std::byte* Heaps::find_mine(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset < env_.adopted_at || env_.platform->adopts_where_told())
    return env_.heap.base + offset;
  const std::shared_lock lock(mutex_);
  for (const auto& [address, chunk] : mine_)
    if (offset >= chunk.offset && offset - chunk.offset < chunk.bytes)
      return bytes <= chunk.bytes - (offset - chunk.offset)
                 ? reinterpret_cast<std::byte*>(address + (offset - chunk.offset))
                 : nullptr;
  return nullptr;
}

std::optional<std::uint64_t> Heaps::key_of(const void* local, std::uint64_t bytes,
                                           std::size_t rail) const {
  const auto at = reinterpret_cast<std::uint64_t>(local);
  const std::shared_lock lock(mutex_);
  auto chunk = mine_.upper_bound(at);
  if (chunk == mine_.begin()) return std::nullopt;
  --chunk;
  const std::uint64_t skip = at - chunk->first;
  if (skip >= chunk->second.bytes || bytes > chunk->second.bytes - skip) return std::nullopt;
  if (chunk->second.memory.hold == nullptr) return std::nullopt;
  return chunk->second.memory.local_keys[rail];
}

}  // namespace weft::network
