// AllGather and AllToAll by Simple.
#pragma once

#include <cstddef>

#include <weft/device.hpp>

#include "kernels/collectives/simple_call.hpp"
#include "kernels/collectives/start.hpp"

namespace weft::kernels {
namespace WEFT_TARGET {

// AllGather and AllToAll.
struct MoveSimple : SimpleCall {
  static constexpr unsigned kMostThreads = kMostThreadsOfBlock;
  WEFT_DEVICE void operator()() const {
    const dev::Context ctx(handle);
    SimpleChannel channel(ctx, team, space, m.in_stride == 0 ? "AllGather" : "AllToAll");
    const auto send = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      put_to_others(channel, round, at, bytes);
      if (in(team.rank) != out(team.rank))
        dev::copy(dev::Block{}, out(team.rank) + at, in(team.rank) + at, bytes);
    };
    const auto take = [&](std::uint64_t round, std::size_t at, std::size_t bytes) {
      for (int i = 1; i < team.size; ++i) {
        const int rank = channel.before(i);
        if (!channel.wait(round, rank)) return false;
        dev::copy(dev::Block{}, out(rank) + at, channel.slot(round, rank), bytes);
      }
      return true;
    };
    pieces(channel, send, take);
  }
};

struct MoveBySimple {
  static constexpr AlgorithmTraits kTraits{Algorithm::kSimple, Protocol::kSimple};
  static Status run(const CollectiveCall& call, Stream stream) {
    return start(call, MoveSimple{simple_call(call)}, stream);
  }
};

}  // namespace WEFT_TARGET
}  // namespace weft::kernels
