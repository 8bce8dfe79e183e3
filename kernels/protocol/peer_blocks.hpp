// The slots where a block's peer blocks take what it sends, and where it takes what they send: to
// find a slot costs more than to send to it, so each is found once, by a thread of its own, before
// the loops.
#pragma once

#include <cstddef>

#include <weft/device.hpp>
#include <weft/team.hpp>

namespace weft::kernels {
namespace WEFT_TARGET {

template <class Slot>
class PeerBlocks {
 public:
  // Bytes that it takes of shared memory, from `shared` on.
  static WEFT_HOST_DEVICE std::size_t shared_bytes(int team_size) {
    return static_cast<std::size_t>(team_size) * sizeof(PeerSlots);
  }

  // By all threads of the block. from(rank): where I take what that rank sends; mine(rank): the
  // same at that rank of what I send, as I would have it.
  template <class Mine, class From>
  WEFT_DEVICE PeerBlocks(const dev::Context& ctx, const Team& team, void* shared, Mine mine,
                         From from)
      : peers_(static_cast<PeerSlots*>(shared)) {
    for (auto rank = static_cast<int>(dev::thread_rank()); rank < team.size;
         rank += static_cast<int>(dev::block_size()))
      if (rank != team.rank) peers_[rank] = {ctx.ptr(mine(rank), team.pe_of(rank)), from(rank)};
    dev::Block{}.sync();
  }
  WEFT_DEVICE Slot* to(int rank) const { return peers_[rank].to; }
  WEFT_DEVICE Slot* from(int rank) const { return peers_[rank].from; }

 private:
  struct PeerSlots {
    Slot *to, *from;
  };
  PeerSlots* const peers_;  // [rank]
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
