// AllGather and AllToAll of symmetric buffers.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/start.hpp"
#include "kernels/collectives/zero_copy_call.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// AllGather and AllToAll.
struct MoveZeroCopy : ZeroCopyCall {
  WEFT_DEVICE void operator()() const {
    const Span span = span_of(m.bytes);
    const auto move = [&](const SimpleChannel& channel, const PeerBuffers* peers) {
      const std::size_t to = static_cast<std::size_t>(team.rank) * m.out_stride;
      const bool keeps = in(team.rank) != out(team.rank);
      for (std::size_t at = 0; at < span.bytes; at += kInterleaveBytes) {
        const std::size_t begin = span.begin + at, bytes = min(kInterleaveBytes, span.bytes - at);
        for (int i = 1; i < team.size; ++i) {
          const int rank = channel.other(i);
          dev::copy(dev::Block{}, peers[rank].out + to + begin, in(rank) + begin, bytes);
        }
        if (keeps) dev::copy(dev::Block{}, m.out + to + begin, in(team.rank) + begin, bytes);
      }
      return true;
    };
    run(m.in_stride == 0 ? "AllGather" : "AllToAll", span, Touches::kOut, move);
  }
};

struct MoveByZeroCopy {
  static constexpr AlgorithmTraits kTraits{Algorithm::kZeroCopy, Protocol::kZeroCopy};
  static Status run(const CollectiveCall& call, Stream stream) {
    return start_zero_copy(call, MoveZeroCopy{zero_copy_call(call)}, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
