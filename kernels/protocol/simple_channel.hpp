// A block's side of its channel for large messages, and for members that are not mapped: puts, and
// a signal behind each whose value is the round. See workspace.hpp. All threads of the block call
// everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>
#include <weft/team.hpp>

#include "kernels/core/pause.hpp"
#include "kernels/protocol/block_wait.hpp"
#include "kernels/protocol/channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

class SimpleChannel : public Channel<&Rounds::simple> {
 public:
  WEFT_DEVICE SimpleChannel(const dev::Context& ctx, const Team& team, const Workspace& space,
                            const char* where)
      : Channel(ctx, team, space, where) {}

  // The next round. All up to kSimpleAhead before it have been taken, in their order.
  WEFT_DEVICE std::uint64_t enter() { return ++round_; }
  struct Bytes {
    const std::byte* data;
    std::size_t count;
  };
  // bytes_for(rank), which are Bytes, to the slot of that round at each of the others; without any
  // only the signal. The sources may be reused.
  template <class BytesFor>
  WEFT_DEVICE void put_to_all(std::uint64_t round, BytesFor bytes_for) const {
    pause(Point::kBeforeData);
    // A signal waits until all that went before it has arrived, some microseconds once the links
    // are full. So there is one fence for all of them, not a wait for each.
    const bool together = team_.size > 2;
    if (together) dev::Block{}.sync();  // the sources are as the block's threads have left them
    bool fences = false;
    for (int i = 1; i < team_.size; ++i) {
      const int rank = other(i);
      const Bytes bytes = bytes_for(rank);
      std::byte* const there =
          together ? ctx_.ptr(slot_at(round, rank), team_.pe_of(rank)) : nullptr;
      if (there == nullptr) {
        // Release: pairs with the acquire of wait() there.
        ctx_.put(dev::Block{}, slot_at(round, rank), bytes.data, bytes.count, team_.pe_of(rank),
                 signal_at(round, rank));
      } else {
        fences = true;
        dev::copy(dev::Block{}, there, bytes.data, bytes.count);
      }
    }
    if (fences) signal_to_mapped(round);
  }
  // The round's signal to each of the others that is mapped, behind all that my block has stored.
  WEFT_DEVICE void signal_to_mapped(std::uint64_t round) const {
    dev::Block{}.sync();
    for (auto i = 1 + static_cast<int>(dev::thread_rank()); i < team_.size;
         i += static_cast<int>(dev::block_size())) {
      const int rank = other(i), pe = team_.pe_of(rank);
      if (ctx_.ptr(slot_at(round, rank), pe) == nullptr) continue;
      // Release, with the signal, of what the block stored as well, since this thread was at its
      // barrier: pairs with the acquire of wait() there.
      ctx_.fence(dev::Thread{});
      ctx_.signal(signal_at(round, rank), pe);
    }
  }
  // A header to each of the others, get(rank), ahead of what put_to_all() puts in that round:
  // header(round, rank) there.
  template <class Get>
  WEFT_DEVICE void put_headers(std::uint64_t round, Get get) const {
    bool by_host = false;
    for (int i = 1; i < team_.size; ++i)
      if (ctx_.ptr(header_at(round, other(i)), team_.pe_of(other(i))) == nullptr) by_host = true;
    for (auto rank = static_cast<int>(dev::thread_rank()); rank < team_.size;
         rank += static_cast<int>(dev::block_size()))
      if (rank != team_.rank) ctx_.p(header_at(round, rank), get(rank), team_.pe_of(rank));
    // Headers that were stored are covered by put_to_all()'s signals: it begins with a barrier, and
    // they release. Headers that the host carries are ordered by this fence alone.
    if (by_host) ctx_.fence(dev::Block{});
  }
  // Once its round has been waited for.
  WEFT_DEVICE SimpleHeader header(std::uint64_t round, int rank) const {
    return space_.headers[here(round, rank)];
  }
  // Waits until what `rank` sends in that round is in slot(round, rank). False: gave up.
  WEFT_DEVICE bool wait(std::uint64_t round, int rank) const {
    pause(Point::kBeforeWait);
    return wait_by_block(ctx_, where_, flag_at(round, rank), round);
  }
  WEFT_DEVICE bool wait_for_all(std::uint64_t round) const {
    pause(Point::kBeforeWait);
    bool arrived = true;
    // The others acquire what a thread has at the barrier.
    for (auto i = 1 + static_cast<int>(dev::thread_rank()); arrived && i < team_.size;
         i += static_cast<int>(dev::block_size()))
      arrived = dev::wait_flag(ctx_.handle(), where_, flag_at(round, before(i)), round);
    return dev::Block{}.all(arrived);
  }
  // A barrier of the peer blocks, where all are mapped: a round of nothing but signals.
  WEFT_DEVICE bool sync() {
    const std::uint64_t round = enter();
    pause(Point::kBeforeData);
    signal_to_mapped(round);
    return wait_for_all(round);
  }
  WEFT_DEVICE std::byte* slot(std::uint64_t round, int rank) const {
    return space_.simple_staging + here(round, rank) * space_.simple_slot;
  }
  // All threads have read the slots.
  WEFT_DEVICE void leave() const { dev::Block{}.sync(); }

 private:
  // The slot at that rank for what I send in a round, and its signal.
  WEFT_DEVICE std::byte* slot_at(std::uint64_t round, int rank) const {
    return space_.simple_staging + index(round, distance(team_.rank, rank)) * space_.simple_slot;
  }
  WEFT_DEVICE Notify signal_at(std::uint64_t round, int rank) const {
    return weft::set(space_.signals + index(round, distance(team_.rank, rank)), round);
  }
  WEFT_DEVICE dev::Flag flag_at(std::uint64_t round, int rank) const {
    return {space_.signals + here(round, rank), team_.pe_of(rank)};
  }
  WEFT_DEVICE SimpleHeader* header_at(std::uint64_t round, int rank) const {
    return space_.headers + index(round, distance(team_.rank, rank));
  }
  // Messages that the host carries may overtake what went before, the next round's signal this
  // one's: so signals, too, have words of their own. [slot][channel][distance]
  WEFT_DEVICE std::size_t index(std::uint64_t round, int distance) const {
    const std::size_t channel = round % kSimpleSlots * space_.channels + dev::block_rank();
    return channel * static_cast<std::size_t>(team_.size - 1) +
           static_cast<std::size_t>(distance - 1);
  }
  // The index of what that rank sends to me.
  WEFT_DEVICE std::size_t here(std::uint64_t round, int rank) const {
    return index(round, distance(rank, team_.rank));
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
