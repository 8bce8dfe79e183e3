// Collectives by Simple: pieces of some ten kilobytes, put by whole blocks with a signal behind
// each.
//
// A block has every grid_size-th piece. It sends a piece ahead of the one that it takes from its
// peer blocks, so that the links are busy while it copies or folds, and hides the rest by the other
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/kernel_call.hpp"
#include "kernels/protocol/simple_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct SimpleCall : KernelCall {
  std::size_t piece;

  // Where the i-th of my block's pieces of `step` bytes begins, and what a message of `all` bytes
  // has there.
  static WEFT_DEVICE std::size_t begin_of(std::uint64_t i, std::size_t step) {
    return (i * dev::grid_size() + dev::block_rank()) * step;
  }
  static WEFT_DEVICE std::size_t bytes_at(std::size_t begin, std::size_t step, std::size_t all) {
    return begin < all ? min(step, all - begin) : 0;
  }

  // Goes through my block's pieces of `piece` bytes from the first-th on, while has(i): send(round,
  // begin), and once the next has been sent take(round, begin), behind which has() may say more.
  // False ends it.
  template <class Has, class Send, class Take>
  WEFT_DEVICE bool one_ahead(SimpleChannel& channel, std::uint64_t first, Has has, Send send,
                             Take take) const {
    std::uint64_t sent = first, round = 0;  // pieces; and that of the last
    for (std::uint64_t i = first; has(i); ++i) {
      for (; sent < i + 2 && has(sent); ++sent)
        send(round = channel.enter(), begin_of(sent, piece));
      const bool ok = take(round - (sent - 1 - i), begin_of(i, piece));
      channel.leave();
      if (!ok) return false;
    }
    return true;
  }
  // The same of all there are in m.bytes: send(round, begin, bytes) and take(round, begin, bytes).
  template <class Send, class Take>
  WEFT_DEVICE void pieces(SimpleChannel& channel, Send send, Take take) const {
    const auto bytes = [&](std::size_t begin) { return bytes_at(begin, piece, m.bytes); };
    channel.close(
        channel.is_open() &&
        one_ahead(
            channel, 0, [&](std::uint64_t i) { return begin_of(i, piece) < m.bytes; },
            [&](std::uint64_t round, std::size_t begin) { send(round, begin, bytes(begin)); },
            [&](std::uint64_t round, std::size_t begin) {
              return take(round, begin, bytes(begin));
            }));
  }
  // To each of the others what is for him.
  WEFT_DEVICE void put_to_others(const SimpleChannel& channel, std::uint64_t round,
                                 std::size_t begin, std::size_t bytes) const {
    channel.put_to_all(round, [&](int rank) -> SimpleChannel::Bytes {
      return {in(rank) + begin, bytes};
    });
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
