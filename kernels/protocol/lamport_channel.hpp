// A block's side of its channel for Lamport words, two at a time (weft/device/lamport.hpp): half
// the bytes of LL. Here for floats, whose NaNs may change their bits; escaped_lamport_channel.hpp
// takes any data. See workspace.hpp.
//
// Threads run through a round by themselves: pair p of a message is sent, and pair p of the others
// taken, by one thread.
//
// A slot has room for a pair again once the pair has been taken, and its next sender must know
// that through something behind a fence: that is a kernel's end. So a call has no more than two
// rounds, and where it uses slots once more (lamport_call.hpp) it waits for signals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <weft/device.hpp>
#include <weft/team.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/protocol/channel.hpp"
#include "kernels/protocol/peer_blocks.hpp"
#include "kernels/protocol/sendable.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

class LamportChannel : public Channel<&Rounds::lamport> {
 public:
  using Pair = dev::LamportPair;
  // Bytes that it takes of shared memory, from its beginning.
  static WEFT_HOST_DEVICE std::size_t shared_bytes(int team_size) {
    return PeerBlocks<Pair>::shared_bytes(team_size);
  }

  // By all threads of the block. It finds slots, and reads no rounds before begin(). `where`: the
  // name that reports give it.
  WEFT_DEVICE LamportChannel(const dev::Context& ctx, const Team& team, const Workspace& space,
                             const char* where)
      : Channel(ctx, team, space, where, Later{}),
        peers_(find_peer_blocks()),
        half_(pairs_of_round()) {}

  static WEFT_DEVICE Pair carried(Pair data) {
    return {sendable(data.first), sendable(data.second)};
  }

  // The next round, which every thread enters by itself.
  WEFT_DEVICE void enter() { ++round_; }
  // Sends what carried() has made. `ahead`: 1 belongs to the round behind this one.
  WEFT_DEVICE void send(int rank, std::size_t pair, Pair data, unsigned ahead = 0) const {
    dev::send_lamport(peers_.to(rank) + half(round_ + ahead) + pair, data);
  }
  WEFT_DEVICE void send_to_all(std::size_t pair, Pair data, unsigned ahead = 0) const {
    for (int i = 1; i < team_.size; ++i) send(other(i), pair, data, ahead);
  }
  // Pair `pair` of every member in rank order, use(rank, data), of kOthers waited for at once; mine
  // is own(), asked for behind that. False: gave up.
  template <int kOthers, class Own, class Use>
  WEFT_DEVICE bool take(std::size_t pair, Own own, Use use, unsigned ahead = 0) const {
    pause(Point::kBeforeWait);
    const int others = team_.size - 1;
    for (int first = 0; first < others; first += kOthers) {
      Pair data[kOthers], *from[kOthers];
      for (int k = 0; k < kOthers; ++k)
        from[k] = first + k < others ? slot(rank_of_other(first + k), pair, ahead) : nullptr;
      const auto awaited = [&](int k) -> dev::AwaitedLamportPair {
        return {from[k], team_.pe_of(rank_of_other(first + k))};
      };
      if (!dev::receive_lamport<kOthers>(ctx_.handle(), where_, awaited, data)) return false;
      for (int k = 0; k < kOthers && first + k < others; ++k) {
        if (first + k == team_.rank) use(team_.rank, own());
        use(rank_of_other(first + k), data[k]);
      }
    }
    if (team_.rank == others) use(team_.rank, own());
    return true;
  }

  // Pair `pair` of one of the others alone.
  WEFT_DEVICE bool take_from(int rank, std::size_t pair, Pair* data, unsigned ahead = 0) const {
    pause(Point::kBeforeWait);
    return take_one(rank, slot(rank, pair, ahead), data);
  }

  // The call is over, for all threads, which have come to what they have by themselves.
  WEFT_DEVICE void close(bool ok) const { Channel::close(dev::Block{}.all(ok)); }

 protected:
  // The slot of that rank's pair.
  WEFT_DEVICE Pair* slot(int rank, std::size_t pair, unsigned ahead = 0) const {
    return peers_.from(rank) + half(round_ + ahead) + pair;
  }
  // A word or a pair of that rank's alone. False: gave up.
  template <class Data>
  WEFT_DEVICE bool take_one(int rank, Data* from, Data* data) const {
    using Awaited = std::conditional_t<std::is_same_v<Data, Pair>, dev::AwaitedLamportPair,
                                       dev::AwaitedLamport>;
    const auto awaited = [&](int) -> Awaited { return {from, team_.pe_of(rank)}; };
    Data one[1];
    if (!dev::receive_lamport<1>(ctx_.handle(), where_, awaited, one)) return false;
    *data = one[0];
    return true;
  }
  // From slots of even rounds to those of that round.
  WEFT_DEVICE std::size_t half(std::uint32_t round) const { return (round & 1) != 0 ? half_ : 0; }

  PeerBlocks<Pair> peers_;  // slots of even rounds

 private:
  WEFT_DEVICE PeerBlocks<Pair> find_peer_blocks() const {
    return PeerBlocks<Pair>(
        ctx_, team_, dev::shared<std::byte>(),
        [&](int rank) { return even_slot(distance(team_.rank, rank)); },
        [&](int rank) { return even_slot(distance(rank, team_.rank)); });
  }
  WEFT_DEVICE std::size_t pairs_of_round() const {
    return space_.channels * static_cast<std::size_t>(team_.size - 1) * (space_.lamport_slot / 2);
  }
  // The slot of even rounds for what the sender so many ranks before sends.
  WEFT_DEVICE Pair* even_slot(int distance) const {
    const std::size_t others = static_cast<std::size_t>(team_.size) - 1;
    const std::size_t number = dev::block_rank() * others + static_cast<std::size_t>(distance - 1);
    return reinterpret_cast<Pair*>(space_.lamport_words + number * space_.lamport_slot);
  }
  std::size_t half_;  // pairs
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
