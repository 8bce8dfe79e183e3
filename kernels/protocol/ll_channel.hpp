// A block's side of its channel, where all members map one another and messages are small: units of
// 8 bytes by LL (weft/device/ll.hpp), whose flag is the number of their round. See workspace.hpp.
//
// Threads of a block run through a round by themselves: unit u of a message is sent, and unit u of
// the others taken, by one thread. leave() is their barrier: behind it every thread knows that all
// units of the round have come from every peer block, and every peer block will know that this
// block has taken all of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>
#include <weft/team.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/protocol/channel.hpp"
#include "kernels/protocol/peer_blocks.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// A call has fewer rounds than lie between this and the end of the numbers.
inline constexpr std::uint32_t kRewindAt = ~std::uint32_t{0} - (1u << 20);

class LLChannel : public Channel<&Rounds::ll> {
 public:
  // Bytes that it takes of shared memory, from its beginning.
  static WEFT_HOST_DEVICE std::size_t shared_bytes(int team_size) {
    return PeerBlocks<dev::LLPacket>::shared_bytes(team_size);
  }

  // By all threads of the block, which see behind it what any has stored before. `where`: what
  // reports call it.
  WEFT_DEVICE LLChannel(const dev::Context& ctx, const Team& team, const Workspace& space,
                        const char* where)
      : Channel(ctx, team, space, where), half_(packets_of_round()), peers_(find_peer_blocks()) {}
  // It finds slots, and reads no rounds before begin().
  using Channel::Later;
  WEFT_DEVICE LLChannel(const dev::Context& ctx, const Team& team, const Workspace& space,
                        const char* where, Later later)
      : Channel(ctx, team, space, where, later),
        half_(packets_of_round()),
        peers_(find_peer_blocks()) {}

  // The channel works. All threads call, first of all.
  WEFT_DEVICE bool open() { return open_ && (round_ < kRewindAt || rewind()); }

  // The next round, which every thread enters by itself.
  WEFT_DEVICE void enter() { ++round_; }
  // `ahead`: 1 belongs to the round behind this one.
  WEFT_DEVICE void send(int rank, std::size_t unit, std::uint64_t data, unsigned ahead = 0) const {
    const std::uint32_t round = round_ + ahead;
    dev::send_ll(peers_.to(rank) + half(round) + unit, data, round);
  }
  WEFT_DEVICE void send_to_all(std::size_t unit, std::uint64_t data, unsigned ahead = 0) const {
    for (int i = 1; i < team_.size; ++i) send(other(i), unit, data, ahead);
  }
  // Unit `unit` of one of the others, for take_these().
  WEFT_DEVICE dev::AwaitedLL awaited(int rank, std::size_t unit) const {
    return {peers_.from(rank) + half(round_) + unit, team_.pe_of(rank)};
  }
  // data[k] of get(k), which is a dev::AwaitedLL, for each k below kMany; the waits are one. False:
  // gave up.
  template <int kMany, class GetAwaited>
  WEFT_DEVICE bool take_these(GetAwaited get, std::uint64_t (&data)[kMany]) const {
    pause(Point::kBeforeWait);
    return dev::receive_ll<kMany>(ctx_, where_, get, round_, data);
  }
  // Unit `unit` of each of the others in rank order, of kOthers waited for at once: use(rank,
  // data).
  template <int kOthers, class Use>
  WEFT_DEVICE bool take(std::size_t unit, Use use) const {
    return take_many<kOthers, 1>(unit, 0, 1,
                                 [&](int, int rank, std::uint64_t data) { use(rank, data); });
  }
  // The same of `count` units, `step` apart, at most kUnits, whose waits are one: use(i, rank,
  // data) of the i-th.
  template <int kOthers, int kUnits, class Use>
  WEFT_DEVICE bool take_many(std::size_t unit, std::size_t step, int count, Use use) const {
    const int others = team_.size - 1;
    for (int first = 0; first < others; first += kOthers) {
      std::uint64_t data[kOthers * kUnits];
      const dev::LLPacket* from[kOthers];
      for (int m = 0; m < kOthers; ++m)
        from[m] = first + m < others ? peers_.from(rank_of_other(first + m)) + half(round_) + unit
                                     : nullptr;
      const auto get = [&](int k) -> dev::AwaitedLL {
        const int m = k / kUnits, i = k % kUnits;
        if (from[m] == nullptr || i >= count) return {nullptr, -1};
        return {from[m] + static_cast<unsigned>(i) * step, team_.pe_of(rank_of_other(first + m))};
      };
      if (!take_these(get, data)) return false;
      for (int m = 0; m < kOthers; ++m)
        for (int i = 0; i < kUnits; ++i)
          if (first + m < others && i < count)
            use(i, rank_of_other(first + m), data[m * kUnits + i]);
    }
    return true;
  }
  // Unit `unit` of one of the others alone.
  WEFT_DEVICE bool take_from(int rank, std::size_t unit, std::uint64_t* data) const {
    std::uint64_t one[1];
    if (!take_these([&](int) { return awaited(rank, unit); }, one)) return false;
    *data = one[0];
    return true;
  }
  // The round is over, for all threads or for none.
  WEFT_DEVICE bool leave(bool ok) const { return dev::Block{}.all(ok); }

 private:
  WEFT_DEVICE std::size_t packets_of_round() const {
    return std::size_t{space_.channels} * static_cast<unsigned>(team_.size) * space_.ll_slot;
  }
  WEFT_DEVICE PeerBlocks<dev::LLPacket> find_peer_blocks() const {
    return PeerBlocks<dev::LLPacket>(
        ctx_, team_, dev::shared<std::byte>(), [&](int) { return slot(0, team_.rank); },
        [&](int rank) { return slot(0, rank); });
  }
  // The slot of that rank's units; of mine, where it is at every member.
  WEFT_DEVICE dev::LLPacket* slot(std::uint32_t round, int rank) const {
    const std::size_t channel = (round & 1) * space_.channels + dev::block_rank();
    return space_.ll_packets +
           (channel * static_cast<std::size_t>(team_.size) + static_cast<std::size_t>(rank)) *
               space_.ll_slot;
  }
  // From slots of even rounds to those of that round.
  WEFT_DEVICE std::size_t half(std::uint32_t round) const { return (round & 1) != 0 ? half_ : 0; }

  // The numbers begin anew, and no unit of before may be taken for one of now: two rounds of one
  // unit each. Before I have sent round r + 1, nobody sends to me what has the parity of round r,
  // and that is when I wipe it.
  WEFT_DEVICE bool rewind() {
    bool ok = true;
    for (int i = 0; ok && i < 2; ++i) {
      wipe();
      ++round_;
      for (auto rank = static_cast<int>(dev::thread_rank()); rank < team_.size;
           rank += static_cast<int>(dev::block_size())) {
        if (rank == team_.rank) continue;
        std::uint64_t nothing;
        send(rank, 0, 0);
        ok = ok && take_from(rank, 0, &nothing);
      }
      ok = leave(ok);
    }
    if (ok) round_ &= 1;
    return ok;
  }
  WEFT_DEVICE void wipe() const {
    const std::size_t count =
        static_cast<std::size_t>(team_.size) * static_cast<std::size_t>(space_.ll_slot);
    dev::LLPacket* const first = slot(round_, 0);
    for (std::size_t i = dev::thread_rank(); i < count; i += dev::block_size())
      dev::send_ll(first + i, 0, 0);
    ctx_.quiet(dev::Block{});
  }

  std::size_t half_;                 // packets
  PeerBlocks<dev::LLPacket> peers_;  // slots of even rounds
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
