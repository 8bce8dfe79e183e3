// Broadcast of symmetric buffers.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/broadcast/call.hpp"
#include "kernels/collectives/start.hpp"
#include "kernels/collectives/zero_copy_call.hpp"
#include "kernels/core/fold.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// A part of the root's message to each of the others, piece by piece, who passes it on: so the root
// sends each byte once. Only it signals a piece.
struct BroadcastZeroCopy : ZeroCopyCall {
  std::size_t piece;  // bytes, a multiple of 16
  int root;
  WEFT_DEVICE void operator()() const {
    const std::size_t part = align_up(ceil_div(m.bytes, parts()), sizeof(Vector));
    const Span span = span_of(part);
    run("Broadcast", span, Touches::kOut, [&](SimpleChannel& channel, const PeerBuffers* peers) {
      for (std::size_t at = 0; at < span.bytes; at += piece) {
        const std::uint64_t round = channel.enter();
        if (team.rank != root && !channel.wait(round, root)) return false;
        forward(channel, peers, part, {span.begin + at, min(piece, span.bytes - at)});
        if (team.rank == root) channel.signal_to_mapped(round);
      }
      return true;
    });
  }

 private:
  // A piece of each part, from the root; and of mine from me.
  WEFT_DEVICE void forward(const SimpleChannel& channel, const PeerBuffers* peers, std::size_t part,
                           const Span& piece) const {
    const bool is_root = team.rank == root;
    const auto copy = [&](std::byte* out, const std::byte* in, std::size_t whose) {
      const std::size_t begin = min(whose * part + piece.begin, m.bytes);
      dev::copy(dev::Block{}, out + begin, in + begin, min(piece.bytes, m.bytes - begin));
    };
    for (int i = 1; i < team.size; ++i) {
      const int rank = channel.other(i);
      if (is_root)
        copy(peers[rank].out, m.in, part_of(rank, root));
      else if (rank != root)
        copy(peers[rank].out, m.out, part_of(team.rank, root));
    }
    if (!is_root || m.in == m.out) return;
    for (std::size_t whose = 0; whose < parts(); ++whose) copy(m.out, m.in, whose);
  }
};

struct BroadcastByZeroCopy {
  static constexpr AlgorithmTraits kTraits{
      Algorithm::kZeroCopy, Protocol::kZeroCopy, Parts::kOthers, Algorithm::kSimple, 1, true};
  static Status run(const BroadcastCall& call, Stream stream) {
    const BroadcastZeroCopy kernel{zero_copy_call(call), call.plan.piece, call.root};
    return start_zero_copy(call, kernel, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
