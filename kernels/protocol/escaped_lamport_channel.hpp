// A channel for Lamport words of any data (lamport_channel.hpp). A word that would be
// kLamportEmpty, or is the word below it, is sent as that lower one, and another word beside says
// which of the two it was.
//
// Data are combined with a key before, so that what programs have much of, zeros and all ones, is
// neither of the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/protocol/lamport_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

class EscapedLamportChannel : public LamportChannel {
 public:
  // The data that are sent: a pair, and which of its words were kLamportEmpty, if one is of the
  // two.
  struct Carried {
    Pair data;
    std::uint64_t were_none;
    WEFT_DEVICE bool has_beside() const { return is_marked(data); }
  };
  WEFT_DEVICE EscapedLamportChannel(const dev::Context& ctx, const Team& team,
                                    const Workspace& space, const char* where)
      : LamportChannel(ctx, team, space, where) {}

  static WEFT_DEVICE Carried carried(Pair data) {
    Carried made{{data.first ^ kEscapeKey, data.second ^ kEscapeKey}, 0};
    if (made.data.first == dev::kLamportEmpty) made.were_none |= 1;
    if (made.data.second == dev::kLamportEmpty) made.were_none |= 2;
    made.data = LamportChannel::carried(made.data);
    return made;
  }
  WEFT_DEVICE void send(int rank, std::size_t pair, const Carried& what) const {
    if (what.has_beside()) dev::send_lamport(beside(peers_.to(rank), pair), what.were_none);
    LamportChannel::send(rank, pair, what.data);
  }
  // As LamportChannel has it.
  template <int kOthers, class Own, class Use>
  WEFT_DEVICE bool take(std::size_t pair, Own own, Use use) const {
    bool ok = true;
    const auto use_data = [&](int rank, Pair data) {
      if (rank != team_.rank) ok = ok && restore(rank, pair, &data);
      if (ok) use(rank, data);
    };
    return LamportChannel::take<kOthers>(pair, own, use_data) && ok;
  }
  // Pair `pair` of one of the others alone.
  WEFT_DEVICE bool take_from(int rank, std::size_t pair, Pair* data) const {
    pause(Point::kBeforeWait);
    return take_one(rank, slot(rank, pair), data) && restore(rank, pair, data);
  }

 private:
  static WEFT_DEVICE bool is_marked(Pair data) {
    return (data.first | 1) == dev::kLamportEmpty || (data.second | 1) == dev::kLamportEmpty;
  }
  // Makes of a pair that has come what it was before carried(). False: gave up.
  WEFT_DEVICE bool restore(int rank, std::size_t pair, Pair* data) const {
    if (is_marked(*data)) {
      std::uint64_t were_none;
      if (!take_one(rank, beside(peers_.from(rank), pair), &were_none)) return false;
      data->first += were_none & 1;
      data->second += were_none >> 1;
    }
    data->first ^= kEscapeKey;
    data->second ^= kEscapeKey;
    return true;
  }
  // The word beside a pair: behind all pairs of its slot, which are two thirds of it.
  WEFT_DEVICE std::uint64_t* beside(Pair* slot, std::size_t pair) const {
    return reinterpret_cast<std::uint64_t*>(slot + half(round_) + space_.lamport_slot / 3) + pair;
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
