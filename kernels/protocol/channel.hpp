// The part that a block's channels of each kind have in common: the count of their rounds, which it
// keeps from call to call, and an order of the other members. See workspace.hpp.
#pragma once

#include <type_traits>
#include <utility>

#include <weft/device.hpp>
#include <weft/team.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/protocol/workspace.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// The i-th to send to, and the i-th to receive from: at any time all send to different members.
WEFT_DEVICE int other_of(const Team& team, int i) {
  const int rank = team.rank + i;
  return rank < team.size ? rank : rank - team.size;
}
WEFT_DEVICE int before_of(const Team& team, int i) {
  const int rank = team.rank - i;
  return rank >= 0 ? rank : rank + team.size;
}

// `kCount`: where Rounds keeps the number of the last round.
template <auto kCount>
class Channel {
 public:
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Reads how many rounds there were, of a channel that was made to do so later.
  WEFT_DEVICE void begin() {
    // A compiler keeps a value that all threads load from one address where only arithmetic on
    // values common to all is done, and waits for it at once. So each seems to have an address of
    // its own.
    const unsigned nothing = dev::thread_rank() >> 30;
    const Rounds* const kept = space_.rounds + dev::block_rank() + nothing;
    first_ = round_ = kept->*kCount;
    open_ = kept->failed == 0;
  }
  WEFT_DEVICE bool is_open() const { return open_; }
  // The call is over, for all threads.
  WEFT_DEVICE void close(bool ok) const {
    pause(Point::kBeforeExit);
    if (dev::thread_rank() != 0 || round_ == first_) return;
    Rounds* const kept = space_.rounds + dev::block_rank();
    kept->*kCount = round_;
    kept->failed = ok ? 0 : 1;
  }

  WEFT_DEVICE int other(int i) const { return other_of(team_, i); }
  WEFT_DEVICE int before(int i) const { return before_of(team_, i); }
  // The k-th of the others, in rank order.
  WEFT_DEVICE int rank_of_other(int k) const { return k < team_.rank ? k : k + 1; }

 protected:
  using Round = std::remove_reference_t<decltype(std::declval<Rounds&>().*kCount)>;

  // `where`: what reports call it.
  WEFT_DEVICE Channel(const dev::Context& ctx, const Team& team, const Workspace& space,
                      const char* where)
      : ctx_(ctx), team_(team), space_(space), where_(where) {
    begin();
  }
  // Before begin() it knows of no rounds.
  struct Later {};
  WEFT_DEVICE Channel(const dev::Context& ctx, const Team& team, const Workspace& space,
                      const char* where, Later)
      : ctx_(ctx), team_(team), space_(space), where_(where), first_(0), round_(0), open_(false) {}

  // Ranks from one to another, the way that other() goes.
  WEFT_DEVICE int distance(int from, int to) const {
    return to > from ? to - from : to - from + team_.size;
  }

  const dev::Context& ctx_;
  const Team& team_;
  const Workspace& space_;
  const char* const where_;
  Round first_, round_;
  bool open_;
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
