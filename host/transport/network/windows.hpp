// Windows: memory of the host through which the bytes of others come to and go from GPU memory that
// no device of the network reaches.
//
// Its owner gives every PE staging slots of its own, into which that PE writes, and from which it
// reads, without asking. Work on a staging slot is a request: the owner copies between the slot and
// its GPU. A staging slot is the asker's from take() to give(): the owner touches it only for a
// request that is not answered yet.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <weft/result.hpp>

#include "host/transport/network/heaps.hpp"
#include "host/transport/network/memory.hpp"
#include "src/platform/platform.hpp"

namespace weft::network {

class Windows {
 public:
  static constexpr int kStagingSlots = 4;  // of one PE
  static constexpr int kNoStagingSlot = -1;

  Windows(int pe, int npes)
      : pe_(pe),
        staging_slot_bytes_(staging_slot_bytes_for(npes)),
        theirs_(static_cast<std::size_t>(npes)) {}
  // As large as a piece of a large op is to be; a window has 64 MiB at most, up to 4096 PEs.
  std::size_t staging_slot_bytes() const { return staging_slot_bytes_; }

  // --- mine --------------------------------------------------------------------------------------
  struct Place {
    std::uint64_t address = 0, bytes = 0;  // 0 bytes: there is none
    Keys keys{};
  };
  // Makes it, and tells what others need.
  Result<Place> open(Platform& platform, const Register& register_memory);
  void close() { registered_ = {}; }
  // Where the staging slot of a PE lies; null: there is no such staging slot, or it is smaller.
  std::byte* staging_slot_of(int from, int staging_slot, std::uint64_t bytes) const;

  // --- those of others ---------------------------------------------------------------------------
  // Before anything is sent.
  void know(int pe, const Place& place) { theirs_[static_cast<std::size_t>(pe)].place = place; }
  // Whether a PE's memory is reached through its window.
  bool serves(int pe) const { return theirs_[static_cast<std::size_t>(pe)].place.bytes != 0; }
  // kBusy: not now.
  Result<int> take(int pe);
  void give(int pe, int staging_slot);
  // Its owner may still use it, and will not say when it does no more.
  void lose(int pe, int staging_slot);
  Heaps::There there(int pe, int staging_slot, std::uint64_t bytes, std::size_t rail = 0) const;

 private:
  enum class State : std::uint8_t { kFree, kTaken, kLost };
  struct Theirs {
    Place place;
    std::array<State, kStagingSlots> staging_slots{};  // under mutex_
  };

  static std::size_t staging_slot_bytes_for(int npes) {
    constexpr std::size_t kWindow = std::size_t{64} << 20, kLeast = 4096,
                          kMost = std::size_t{256} << 10;
    return std::clamp(kWindow / kStagingSlots / static_cast<std::size_t>(npes) / kLeast * kLeast,
                      kLeast, kMost);
  }
  void set(int pe, int staging_slot, State state);

  const int pe_;
  const std::size_t staging_slot_bytes_;
  Memory memory_;
  Registered registered_;  // after the memory: given back before it
  std::mutex mutex_;
  std::vector<Theirs> theirs_;
};

}  // namespace weft::network
