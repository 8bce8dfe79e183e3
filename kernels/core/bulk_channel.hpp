// A block's side of its channel for large messages, and for members that are not mapped: puts with
// a signal whose value is the round. See workspace.hpp. All threads of the block call everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>
#include <weft/team.hpp>

#include "kernels/core/block_wait.hpp"
#include "kernels/core/pause.hpp"
#include "kernels/core/workspace.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

class BulkChannel {
 public:
  // `where`: what reports call it.
  WEFT_DEVICE BulkChannel(const dev::Context& ctx, const Team& team, const Workspace& space,
                          const char* where)
      : ctx_(ctx), team_(team), space_(space), where_(where) {
    const Rounds* const kept = space.rounds + dev::block_rank();
    first_ = round_ = kept->bulk;
    open_ = kept->broken == 0;
  }
  BulkChannel(const BulkChannel&) = delete;
  BulkChannel& operator=(const BulkChannel&) = delete;

  WEFT_DEVICE bool is_open() const { return open_; }

  // The next round. All up to kBulkAhead before it have been taken, in their order.
  WEFT_DEVICE std::uint64_t enter() { return ++round_; }
  // To the slot of that round there; without bytes only the signal. The source may be reused.
  WEFT_DEVICE void put(std::uint64_t round, int rank, const std::byte* src,
                       std::size_t bytes) const {
    WEFT_KERNELS_PAUSE(kBeforeData);
    const std::size_t there = index(round, distance(team_.rank, rank));
    // Release: pairs with the acquire of wait() there.
    ctx_.put(dev::Block{}, space_.staging + there * space_.bulk_slot, src, bytes, team_.pe_of(rank),
             weft::set(space_.signals + there, round));
  }
  // What `rank` sent in that round is in slot(round, rank).
  WEFT_DEVICE bool wait(std::uint64_t round, int rank) const {
    WEFT_KERNELS_PAUSE(kBeforeWait);
    return wait_by_block(ctx_, where_, {space_.signals + here(round, rank), team_.pe_of(rank)},
                         round);
  }
  WEFT_DEVICE bool wait_for_all(std::uint64_t round) const {
    for (int i = 1; i < team_.size; ++i)
      if (!wait(round, before(i))) return false;
    return true;
  }
  WEFT_DEVICE std::byte* slot(std::uint64_t round, int rank) const {
    return space_.staging + here(round, rank) * space_.bulk_slot;
  }
  // All threads have read the slots.
  WEFT_DEVICE void leave() const { dev::Block{}.sync(); }

  WEFT_DEVICE void close(bool ok) const {
    WEFT_KERNELS_PAUSE(kBeforeExit);
    if (dev::thread_rank() != 0 || round_ == first_) return;
    Rounds* const kept = space_.rounds + dev::block_rank();
    kept->bulk = round_;
    kept->broken = ok ? 0 : 1;
  }

  // The i-th to send to, and the i-th to hear from: at any time all send to different members.
  WEFT_DEVICE int other(int i) const {
    const int rank = team_.rank + i;
    return rank < team_.size ? rank : rank - team_.size;
  }
  WEFT_DEVICE int before(int i) const {
    const int rank = team_.rank - i;
    return rank >= 0 ? rank : rank + team_.size;
  }

 private:
  // What the host carries may overtake what went before, the next round's signal this one's: so
  // they, too, have words of their own. [place][channel][distance]
  WEFT_DEVICE std::size_t index(std::uint64_t round, int distance) const {
    const std::size_t channel = round % kBulkPlaces * space_.channels + dev::block_rank();
    return channel * static_cast<std::size_t>(team_.size - 1) +
           static_cast<std::size_t>(distance - 1);
  }
  // Of what that rank sends to me.
  WEFT_DEVICE std::size_t here(std::uint64_t round, int rank) const {
    return index(round, distance(rank, team_.rank));
  }
  WEFT_DEVICE int distance(int from, int to) const {
    return to > from ? to - from : to - from + team_.size;
  }

  const dev::Context& ctx_;
  const Team& team_;
  const Workspace& space_;
  const char* const where_;
  std::uint64_t first_, round_;
  bool open_;
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
