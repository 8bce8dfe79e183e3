#include "host/transport/network/windows.hpp"

#include <fmt/format.h>

#include "src/base/status.hpp"

namespace weft::network {

Result<Windows::Place> Windows::open(Platform& platform, const Register& register_memory) {
  const std::size_t bytes = theirs_.size() * kStagingSlots * staging_slot_bytes_;
  ASSIGN_OR_RETURN(memory_, platform.host_visible(bytes));
  ASSIGN_OR_RETURN(registered_, register_memory(memory_.base(), bytes));
  return Place{registered_.address, bytes, registered_.keys};
}

std::byte* Windows::staging_slot_of(int from, int staging_slot, std::uint64_t bytes) const {
  if (memory_.base() == nullptr || staging_slot < 0 || staging_slot >= kStagingSlots ||
      bytes > staging_slot_bytes_ || from < 0 || static_cast<std::size_t>(from) >= theirs_.size())
    return nullptr;
  return memory_.base() +
         static_cast<std::size_t>(from * kStagingSlots + staging_slot) * staging_slot_bytes_;
}

Result<int> Windows::take(int pe) {
  const std::lock_guard lock(mutex_);
  auto& staging_slots = theirs_[static_cast<std::size_t>(pe)].staging_slots;
  const auto free = std::find(staging_slots.begin(), staging_slots.end(), State::kFree);
  if (free != staging_slots.end()) {
    *free = State::kTaken;
    return static_cast<int>(free - staging_slots.begin());
  }
  if (std::find(staging_slots.begin(), staging_slots.end(), State::kTaken) != staging_slots.end())
    return Status::busy();
  return Status::error(
      Code::kPeerLost,
      fmt::format("PE {} has been lost with all that was under way to its GPU memory", pe));
}

void Windows::set(int pe, int staging_slot, State state) {
  if (staging_slot == kNoStagingSlot) return;
  const std::lock_guard lock(mutex_);
  theirs_[static_cast<std::size_t>(pe)].staging_slots[static_cast<std::size_t>(staging_slot)] =
      state;
}

void Windows::give(int pe, int staging_slot) { set(pe, staging_slot, State::kFree); }

void Windows::lose(int pe, int staging_slot) { set(pe, staging_slot, State::kLost); }

// In each window the staging slots of one PE lie at the same place.
Heaps::There Windows::there(int pe, int staging_slot, std::uint64_t bytes, std::size_t rail) const {
  const Place& place = theirs_[static_cast<std::size_t>(pe)].place;
  return {place.address +
              static_cast<std::uint64_t>(pe_ * kStagingSlots + staging_slot) * staging_slot_bytes_,
          place.keys[rail], bytes};
}

}  // namespace weft::network
