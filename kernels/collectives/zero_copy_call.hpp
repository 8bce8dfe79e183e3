// Collectives of buffers that are symmetric memory: straight into the others' outputs, or out of
// their inputs, without staging and a copy from there.
//
// A block has a contiguous share of every message. It first synchronizes with its peer blocks, so
// that each knows that the others' members are there and it may touch their buffers; moves; and
// synchronizes again once all of it has been done. Both are rounds of the Simple channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device.hpp>

#include "kernels/collectives/kernel_call.hpp"
#include "kernels/protocol/simple_channel.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

struct ZeroCopyCall : KernelCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  static std::size_t shared_bytes(int team_size) {
    return static_cast<std::size_t>(team_size) * sizeof(PeerBuffers);
  }

 protected:
  // Where a member's buffers are, as far as the others touch them.
  enum class Touches { kOut, kIn, kBoth };
  struct PeerBuffers {
    std::byte* out;
    const std::byte* in;
  };

  // body(channel, peers) between the two rounds, of a block that has a share; false: gave up.
  template <class Body>
  WEFT_DEVICE void run(const char* where, const Span& span, Touches what, Body body) const {
    if (span.bytes == 0) return;
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, where);
    // Before the loops: to find a buffer costs more than a load there.
    auto* const peers = dev::shared<PeerBuffers>();
    for (auto rank = static_cast<int>(dev::thread_rank()); rank < team.size;
         rank += static_cast<int>(dev::block_size())) {
      const int pe = team.pe_of(rank);
      peers[rank] = {what == Touches::kIn ? nullptr : ctx.ptr(m.out, pe),
                     what == Touches::kOut ? nullptr : ctx.ptr(m.in, pe)};
    }
    channel.close(channel.is_open() && channel.sync() && body(channel, peers) && channel.sync());
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
